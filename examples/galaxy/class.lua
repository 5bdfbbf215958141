-- A class is the metatable of its instances and knows its own name: saves hold that name.

return function(name, defaults)
  local Class = { __name = name }
  Class.__index = Class

  function Class.new(fields)
    local self = {}
    for key, value in pairs(defaults) do self[key] = value end
    for key, value in pairs(fields or {}) do self[key] = value end
    return setmetatable(self, Class)
  end

  return Class
end
