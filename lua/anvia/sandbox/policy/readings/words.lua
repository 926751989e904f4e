-- SPDX-License-Identifier: MIT
--- Lists of words, as the files that open a command need them.

local words = {}

--- The words from one position on, as a list of its own.
---@param list anvia.sandbox.Word[]
---@param from integer
---@return anvia.sandbox.Word[]
function words.slice(list, from)
  local out = {}
  for i = from, #list do
    out[#out + 1] = list[i]
  end
  return out
end

--- Words as the text of one script, with holes where they are not known.
---@param list anvia.sandbox.Word[]
---@return string text
---@return boolean known   no word has a hole
function words.joined(list)
  local out, known = {}, true
  for i, word in ipairs(list) do
    out[i] = type(word) == "string" and word or word.holed
    known = known and type(word) == "string"
  end
  return table.concat(out, " "), known
end

return words
