# Tests and checks. scripts/run-tests runs the parts it is given, lists every
# test, and ends with the line "N passed, N failed".

# The other compiler must be content as well, where it is installed.
OTHER_CC = $(filter-out $(CC),gcc clang)

test: | need-test   ## everything below that needs no special build
	$(run_tests) build programs lint fuzz ctest harness corpus spec bench \
	  fuzzed

ctest: | need-build   ## tests of the C parts, one program each
	$(run_tests) build programs ctest harness corpus

spec: | need-spec   ## the specs; SPEC=path runs some of them
	$(run_tests) build spec

lint: need-lint $(CORE) programs   ## luacheck, C warnings, symbols, style
	@luacheck --no-color --quiet .
	@scripts/check-symbols $(CORE) $(OBJ)
	@scripts/check-style
	+@for cc in $(OTHER_CC); do \
	  if command -v $$cc >/dev/null; then \
	    $(MAKE) BUILD=$(BUILD)/lint/$$cc CC=$$cc all programs || exit; \
	  fi; \
	done

SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all
ifneq (,$(findstring clang,$(CC)))
asan_dir = $(shell $(CC) -print-runtime-dir)
asan_lib = $(asan_dir)/libclang_rt.asan-$(shell uname -m).so
asan_link = $(SANITIZE) -shared-libasan -Wl,-rpath,$(asan_dir)
else
asan_lib = $(shell $(CC) -print-file-name=libasan.so)
asan_link = $(SANITIZE)
endif
# The library is preloaded for the interpreter, which is not instrumented.
# Code stays mapped (nodelete), so that reports can name it at the end.
asan_run = env LD_PRELOAD=$(asan_lib) UBSAN_OPTIONS=print_stacktrace=1 \
  ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
asan: | need-spec   ## C tests and specs under ASan and UBSan
	+@$(MAKE) BUILD=$(BUILD)/asan LDFLAGS='$(asan_link) -Wl,-z,nodelete' \
	  CFLAGS='-O1 -g -fno-omit-frame-pointer $(SANITIZE)' \
	  RUNNER='$(asan_run)' \
	  TEST_TIMEOUT=3600 checked

VALGRIND = valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite \
           --show-leak-kinds=definite --keep-debuginfo=yes --error-exitcode=99
# Fewer rounds for the specs that draw at random: valgrind is slow.
valgrind: export ECSSER_OPS ?= 5000
valgrind: export ECSSER_ROUNDS ?= 10
valgrind: | need-valgrind   ## specs under valgrind
	+@$(MAKE) BUILD=$(BUILD)/valgrind RUNNER='$(VALGRIND)' CFLAGS='-O1 -g' \
	  TEST_TIMEOUT=14400 spec

# Everything that runs code, for the targets with a build of their own.
.PHONY: checked
checked:
	$(run_tests) build programs ctest harness corpus spec

coverage: | need-spec   ## lines and branches of the C core that tests reach
	@rm -f $(BUILD)/coverage/obj/*.gcda
	+@$(MAKE) BUILD=$(BUILD)/coverage CFLAGS='-O0 -g --coverage' \
	  LDFLAGS=--coverage checked
	@scripts/coverage-report $(BUILD)/coverage/obj

fuzz: | need-fuzz   ## fuzzes the readers, FUZZ_SECONDS (60) each
	+@$(MAKE) fuzzers-built
	@BUILD=$(BUILD)/fuzz scripts/run-fuzzers \
	  $(addsuffix =$(FUZZ_SECONDS),$(notdir $(FUZZERS)))

.PHONY: fuzzers fuzzers-built
fuzzers: $(FUZZERS)
fuzzers-built:
	+@$(MAKE) BUILD=$(BUILD)/fuzz CC=clang LDFLAGS='$(SANITIZE)' \
	  CFLAGS='-O1 -g -fsanitize=fuzzer-no-link $(SANITIZE)' fuzzers
