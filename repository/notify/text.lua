-- Text for messengers: cut to a length, and escaped.

local text = {}

-- The text, cut to so many units of UTF-16 with `…` at the end: that is how Telegram counts, and no character is
-- cut in half. Bytes that are no UTF-8 are left out.
function text.cut(value, most)
  local pieces, length, fits = {}, 0, 0
  for character in value:gmatch(utf8.charpattern) do
    length = length + (#character == 4 and 2 or 1)
    if length > most then
      return table.concat(pieces, "", 1, fits) .. "…"
    end
    pieces[#pieces + 1] = character
    -- The ellipsis needs a place, too.
    if length < most then
      fits = #pieces
    end
  end
  return table.concat(pieces)
end

-- As text in Telegram's HTML.
function text.escape(value)
  local escaped = value:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })
  return escaped
end

return text
