# ecsser: build, test, install. `make help` lists the targets.
# Everything that is built lies under $(BUILD).

# ---- What may be set on the command line ------------------------------------
ifeq ($(origin CC),default)
CC = gcc
endif
CFLAGS ?= -O2 -g
WERROR ?= -Werror
LIBFLAG ?= -shared
PKG_CONFIG ?= pkg-config

LUA_VERSION ?= 5.4
LUA ?= lua$(LUA_VERSION)
ifdef LUA_INCDIR
LUA_CFLAGS ?= -I$(LUA_INCDIR)
else
LUA_CFLAGS ?= $(shell $(PKG_CONFIG) --cflags lua$(LUA_VERSION))
endif
LUA_LIBS ?= $(shell $(PKG_CONFIG) --libs lua$(LUA_VERSION))

PREFIX ?= /usr/local
INST_LUADIR ?= $(PREFIX)/share/lua/$(LUA_VERSION)
INST_LIBDIR ?= $(PREFIX)/lib/lua/$(LUA_VERSION)

BUILD = build
RUNNER =
SPEC = spec
BENCH =
FUZZ_SECONDS = 60
# In make test those that read what comes from outside take longer.
FUZZ_TEST = json_fuzz=60 json_round_fuzz=60 cbor_fuzz=20 image_fuzz=20 \
            image_mended_fuzz=20
# "install" gets missing Debian packages, "check" only names them.
PACKAGES ?= install

# ---- What is built from what ------------------------------------------------
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
       -Wmissing-prototypes $(WERROR)
COMPILE = $(CC) -std=c11 -fPIC -fvisibility=hidden $(WARN) $(LUA_CFLAGS) \
          $(CPPFLAGS) $(CFLAGS) -MMD -MP

SRC := $(sort $(wildcard src/*.c))
OBJ = $(SRC:src/%.c=$(BUILD)/obj/%.o)
CORE = $(BUILD)/ecsser/core.so
# A program takes from the archive only what it calls, so a test of a part
# that knows no Lua does not link when that part calls Lua after all.
ARCHIVE = $(BUILD)/libecsser.a

programs = $(patsubst spec/c/%.c,$(BUILD)/c/%,$(sort $(wildcard spec/c/$(1))))
CTESTS = $(call programs,*_test.c)
HARNESS = $(call programs,harness*.c)
FUZZERS = $(call programs,*_fuzz.c)
REPLAYS = $(FUZZERS:_fuzz=_replay)
# C modules for the benchmarks: bench/floor.c is require "bench.floor".
BENCH_MODULES = $(patsubst bench/%.c,$(BUILD)/bench/%.so,$(wildcard bench/*.c))
PROGRAMS = $(CTESTS) $(HARNESS) $(REPLAYS) $(BENCH_MODULES)

# The scripts read these.
export BUILD CC CPPFLAGS LUA LUA_VERSION LUA_INCDIR PACKAGES PKG_CONFIG
export CTESTS HARNESS REPLAYS SPEC RUNNER TEST_TIMEOUT
export FUZZ = $(FUZZ_TEST)
export ECSSER_BUILD = $(BUILD)

# Lua modules of this tree first. The names with the version go before the
# plain ones, so they are the ones to set.
lua_suffix := $(subst .,_,$(LUA_VERSION))
with_lua = LUA_PATH_$(lua_suffix)="lua/?.lua;lua/?/init.lua;$${LUA_PATH:-;}" \
           LUA_CPATH_$(lua_suffix)="$(BUILD)/?.so;$${LUA_CPATH:-;}"
run_tests = +@$(with_lua) MAKE="$(MAKE)" scripts/run-tests

# Quiet unless V=1.
Q = $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2))

MAKEFLAGS += --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:
.PHONY: all programs test lint ctest spec demo bench asan valgrind fuzz \
        coverage install uninstall clean help FORCE

all: $(CORE)   ## builds the module (the default)

# Moved into place whole, because a running program may have the old one open.
$(CORE): $(OBJ)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LIBFLAG) $(LDFLAGS) -o $@.new $^ && mv $@.new $@

$(ARCHIVE): $(OBJ)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

$(BUILD)/obj/%.o: src/%.c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)$(COMPILE) -c -o $@ $<

$(BUILD)/c/%.o: spec/c/%.c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)$(COMPILE) -Isrc -c -o $@ $<

# Rewritten only when the commands or the list of sources change: then
# everything that depends on it is built again.
$(BUILD)/flags: FORCE | need-build $(BUILD)/obj $(BUILD)/c
	$(file >$@.new,$(COMPILE) $(LIBFLAG) $(LDFLAGS) $(SRC))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/obj $(BUILD)/c:
	@mkdir -p $@

programs: $(PROGRAMS)

$(CTESTS): %: %.o $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $< $(ARCHIVE) -lm

# Exports its symbols (-E), so that it can also load modules with require.
$(HARNESS): %: %.o $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,-E -o $@ $< $(ARCHIVE) $(LUA_LIBS) -lm -ldl

$(REPLAYS): %_replay: %_fuzz.o $(BUILD)/c/replay.o $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lm

$(FUZZERS): %: %.o $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ -lm

$(BENCH_MODULES): $(BUILD)/bench/%.so: bench/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(COMPILE) $(LIBFLAG) $(LDFLAGS) -o $@ $<

-include $(wildcard $(BUILD)/obj/*.d $(BUILD)/c/*.d $(BUILD)/bench/*.d)

include mk/packages.mk mk/checks.mk

demo: need-run $(CORE)   ## plays the dungeon example
	@$(with_lua) $(LUA) examples/dungeon/demo.lua

bench: need-run $(CORE) $(BENCH_MODULES)   ## measures; BENCH="full strict"
	@$(with_lua) $(LUA) bench/run.lua $(BENCH)

install: $(CORE)   ## installs to PREFIX (/usr/local), DESTDIR in front
	@cd lua && find ecsser -name '*.lua' | while read -r file; do \
	  dir="$(DESTDIR)$(INST_LUADIR)/$$(dirname "$$file")"; \
	  mkdir -p "$$dir" && install -m 644 "$$file" "$$dir" || exit; \
	done
	@mkdir -p "$(DESTDIR)$(INST_LIBDIR)/ecsser"
	@install -m 755 $(CORE) "$(DESTDIR)$(INST_LIBDIR)/ecsser/core.so"
	@echo "installed: $(DESTDIR)$(INST_LUADIR)/ecsser," \
	      "$(DESTDIR)$(INST_LIBDIR)/ecsser"

uninstall:   ## removes what install wrote
	rm -rf "$(DESTDIR)$(INST_LUADIR)/ecsser" "$(DESTDIR)$(INST_LIBDIR)/ecsser"

clean:   ## removes everything that was built
	rm -rf $(BUILD)

help:   ## lists the targets
	@echo "make [target] [CC=clang] [V=1] [PACKAGES=check]"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | \
	  expand -t 14
