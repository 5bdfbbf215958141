-- Checks that print their outcome. What fails is counted, not raised, so that all is shown.

local check = { passed = 0, failed = 0 }

function check.that(condition, what)
  local outcome = condition and "passed" or "failed"
  check[outcome] = check[outcome] + 1
  print(("  %-6s %s"):format(condition and "ok" or "WRONG", what))
end

-- The first difference of two values and of everything in them, as a path; nil when there is none.
-- An entity of the one world must be its twin in the other. Metatables are not compared.
function check.difference(a, b, twins, path)
  if type(a) ~= "table" or type(b) ~= "table" then
    local expected = twins[a] or a
    return not (expected == b and math.type(a) == math.type(b)) and path or nil
  end
  for key, value in pairs(a) do
    local found = check.difference(value, b[key], twins, path .. "." .. tostring(key))
    if found then return found end
  end
  for key in pairs(b) do
    if a[key] == nil then return path .. "." .. tostring(key) end
  end
end

return check
