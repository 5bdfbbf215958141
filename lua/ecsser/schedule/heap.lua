--- A binary heap of integers, the least on top.

local heap = {}

function heap.push(items, value)
  local hole = #items + 1
  while hole > 1 do
    local parent = hole // 2
    if items[parent] <= value then break end
    items[hole] = items[parent]
    hole = parent
  end
  items[hole] = value
end

--- Takes the least value out; nil when the heap is empty.
function heap.pop(items)
  local least, count = items[1], #items
  local value = items[count]
  items[count] = nil
  count = count - 1
  if count <= 0 then return least end
  local hole = 1
  while true do
    local child = hole * 2
    if child > count then break end
    if child < count and items[child + 1] < items[child] then child = child + 1 end
    if value <= items[child] then break end
    items[hole] = items[child]
    hole = child
  end
  items[hole] = value
  return least
end

return heap
