-- Two logs side by side.

local compare = {}

-- Prints every line once with "=" in front, or both lines with "1" and "2" where they differ.
-- Returns the number of equal lines and that of different ones.
function compare.print(first, second)
  local equal, different = 0, 0
  for i = 1, math.max(#first, #second) do
    local a, b = first[i] or "(nothing)", second[i] or "(nothing)"
    if a == b then
      equal = equal + 1
      print("  = " .. a)
    else
      different = different + 1
      print("  1 " .. a .. "\n  2 " .. b)
    end
  end
  return equal, different
end

return compare
