# What the targets need from Debian. Each group is looked for first, and only
# what is missing is installed (scripts/ensure-packages).

.PHONY: need-build need-run need-spec need-test need-lint need-fuzz \
        need-valgrind

compiler = $(if $(findstring clang,$(CC)),clang,gcc)
build_packages = $(compiler) libc6-dev libxxhash-dev liblua$(LUA_VERSION)-dev \
                 $(if $(LUA_INCDIR),,pkg-config)
run_packages = lua$(LUA_VERSION) lua-cjson
spec_packages = $(run_packages) lua-busted

need-build:
	@scripts/ensure-packages $(build_packages)

need-run:
	@scripts/ensure-packages $(build_packages) $(run_packages)

need-spec:
	@scripts/ensure-packages $(build_packages) $(spec_packages)

need-lint:
	@scripts/ensure-packages $(build_packages) lua-check

need-test:
	@scripts/ensure-packages $(build_packages) $(spec_packages) lua-check

need-valgrind:
	@scripts/ensure-packages $(build_packages) $(spec_packages) valgrind

need-fuzz:
	@scripts/ensure-packages $(build_packages) clang libclang-rt-dev
