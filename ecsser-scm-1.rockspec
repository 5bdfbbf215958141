rockspec_format = "3.0"
package = "ecsser"
version = "scm-1"

-- Built from a checkout: luarocks make
source = { url = "git+file://." }

description = {
  summary = "An entity-component-system whose worlds can be saved and restored exactly",
  detailed = [[
An ECS for Lua with a core in C. A world can be saved as a JSON document or as
a binary snapshot, restored, hashed, copied and rolled back.]],
  license = "MIT",
}

dependencies = { "lua >= 5.4", "lua-cjson" }
test_dependencies = { "busted" }
external_dependencies = { XXHASH = { header = "xxhash.h" } }

-- The Makefile finds the sources itself, so that there is no list to keep.
-- A user's compiler may know more warnings than ours: they are no errors here.
build = {
  type = "make",
  variables = {
    BUILD = "build/luarocks",
    CC = "$(CC)",
    CFLAGS = "$(CFLAGS)",
    CPPFLAGS = "-I$(XXHASH_INCDIR)",
    LIBFLAG = "$(LIBFLAG)",
    LUA_INCDIR = "$(LUA_INCDIR)",
    PACKAGES = "check",
    WERROR = "",
  },
  install_variables = {
    INST_LUADIR = "$(LUADIR)",
    INST_LIBDIR = "$(LIBDIR)",
  },
}

test = { type = "busted" }
