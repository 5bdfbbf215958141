-- Busted in the Lua that runs this file; Debian's command starts Lua 5.1.
require "busted.runner" { standalone = false }
