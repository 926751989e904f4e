-- SPDX-License-Identifier: MIT
-- Builds random shell scripts and knows which commands they run.
--
-- Every command that it writes as code is a program of a small set with a marker of its own:
-- `prog3 k17`. Text that only looks like code (in quotes, comments, here-documents that are data)
-- uses the names decoy0, decoy1 ... The same seed gives the same scripts on every machine.

local shellgen = {}

local Generator = {}
Generator.__index = Generator

local PROGRAMS = 10

---@param seed integer
---@param options {dialect: "posix"|"bash", dynamic: boolean?, real: boolean?}
---  dynamic: now and then a program is computed (the reader has to say so);
---  real: only what runs the same everywhere, for comparing with real shells
function shellgen.new(seed, options)
  local self = setmetatable({
    state = seed % 2147483647 + 1,
    bash = options.dialect == "bash",
    dynamic = options.dynamic,
    real = options.real,
    marker = 0,
    label = 0,
    runs = {},
    depth = 0,
    size = 0,
  }, Generator)
  -- Neighbouring seeds begin with neighbouring numbers.
  for _ = 1, 4 do
    self:next()
  end
  return self
end

-- A generator of Park and Miller: exact in doubles.
function Generator:next()
  self.state = (self.state * 16807) % 2147483647
  return self.state
end

function Generator:int(n)
  return math.floor(self:next() / 2147483647 * n) + 1
end

function Generator:chance(percent)
  return self:int(100) <= percent
end

function Generator:pick(list)
  return list[self:int(#list)]
end

function shellgen.single(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

function shellgen.double(text)
  return '"' .. text:gsub('[\\"$`]', "\\%0") .. '"'
end

local function ansi(text)
  return "$'" .. text:gsub("[\\'\n]", { ["\\"] = "\\\\", ["'"] = "\\'", ["\n"] = "\\n" }) .. "'"
end

--- Quotes a script as one word.
function Generator:quoted(text)
  local way = self:int(self.bash and 3 or 2)
  if way == 1 then
    return shellgen.single(text)
  elseif way == 2 then
    return shellgen.double(text)
  end
  return ansi(text)
end

--- A new command: its name, its marker, both noted as running.
function Generator:command_words()
  self.marker = self.marker + 1
  local name, mark = "prog" .. (self:int(PROGRAMS) - 1), "k" .. self.marker
  self.runs[#self.runs + 1] = { name = name, mark = mark }
  return name, mark
end

--- Some spelling of a program name.
function Generator:spell(name)
  local way = self:int(self.bash and 11 or 9)
  local cut = self:int(#name - 1)
  local head, tail = name:sub(1, cut), name:sub(cut + 1)
  if way == 1 then
    return "'" .. head .. "'" .. tail
  elseif way == 2 then
    return head .. '"' .. tail .. '"'
  elseif way == 3 then
    return head .. "\\" .. tail
  elseif way == 4 then
    return head .. "''" .. tail
  elseif way == 5 then
    return head .. "\\\n" .. tail
  elseif way == 6 then
    return '""' .. head .. "\\\n" .. '"' .. tail .. '"'
  elseif way == 10 then
    return ("$'\\x%02x%s'"):format(name:byte(), name:sub(2))
  elseif way == 11 then
    return '$"' .. name .. '"'
  end
  return name
end

function Generator:decoy()
  return "decoy" .. self:int(9)
end

--- An argument that holds no command, but tries to look like one.
function Generator:data()
  local d = self:decoy()
  return self:pick({
    "x", "a=b", "'; " .. d .. " x'", '"| ' .. d .. '"', "\\;" .. d, "a#" .. d, '"# ' .. d .. '"',
    "'$(" .. d .. ")'", '"\\$(' .. d .. ')"', "'`" .. d .. "`'", "\\`" .. d, "then", "$((1 + 2))",
    "$(( (2*3) ))", "'\n" .. d .. "\n'", '"a\nb"', "''", "-x", "{x", "}", "\194\160" .. d, "a\\\nb",
    "'<<E'", "\\<\\<E", '"${x:-' .. d .. '}"', "${x+" .. d .. "}", "$#", "${#x}", "!",
  })
end

--- $(...): "$((" would begin arithmetic.
function Generator:substitution(most)
  local text = self:list(most)
  return (text:sub(1, 1) == "(" and "$( " or "$(") .. text .. ")"
end

--- An argument, maybe with commands in it.
function Generator:argument()
  if self.depth > 5 or not self:chance(25) then
    return self:data()
  end
  local way = self:int(self.bash and 9 or 7)
  if way == 1 then
    return self:substitution(2)
  elseif way == 2 then
    return '"' .. self:substitution(2) .. '"'
  elseif way == 3 then
    return "`" .. self:list(1):gsub("[\\`$]", "\\%0") .. "`"
  elseif way == 4 then
    return '"`' .. self:list(1):gsub('[\\`$"]', "\\%0") .. '`"'
  elseif way == 5 then
    return "${unset_name:-" .. self:substitution(1) .. "}"
  elseif way == 6 then
    return '"a${unset_name:-"' .. self:substitution(1) .. '"}b"'
  elseif way == 7 then
    return "$((1 + 0" .. self:substitution(1) .. "))"
  elseif way == 8 then
    return "<(" .. self:list(1) .. ")"
  end
  return ">(" .. self:list(1) .. ")"
end

function Generator:arguments()
  local out = {}
  for i = 1, self:int(3) - 1 do
    out[i] = " " .. self:argument()
  end
  return table.concat(out)
end

--- A here-document with data, maybe with commands in its expansions. Gives operator and body.
function Generator:here(text, literal)
  self.label = self.label + 1
  local label = "E" .. self.label
  local operator = self:pick({ "<<", "<< ", "<<-" })
  if literal then
    local quoted = self:pick({ "'" .. label .. "'", "\\" .. label, '"' .. label .. '"' })
    return operator .. quoted, text .. "\n" .. label .. "\n"
  end
  return operator .. label, text .. "\n" .. label .. "\n"
end

function Generator:redirect()
  local way = self:int(8)
  if way == 1 then
    return " >/dev/null", ""
  elseif way == 2 then
    return " 2>&1", ""
  elseif way == 3 then
    return " </dev/null", ""
  elseif way == 4 then
    return self:here(self:decoy() .. " x\n$(" .. self:decoy() .. ")\n", true)
  elseif way == 5 and self.depth < 5 then
    return self:here("a " .. self:substitution(1) .. " b\n" .. self:decoy() .. " \\$(x)", false)
  elseif way == 6 and self.bash then
    local here = " <<<'" .. self:decoy() .. "'"
    return self:pick({ " &>/dev/null", " >&/dev/null", " 3>&1", here }), ""
  end
  return "", ""
end

--- Wrappers, as text before the program.
local WRAPPERS = {
  "env ", "env A=1 B='x y' ", "env -u FOO ", "env -u FOO -- ", "nice ", "nice -n 5 ", "nohup ",
  "timeout 9 ", "timeout -k 3 9 ", "timeout -s TERM -- 9 ", "command ", "stdbuf -oL ",
  "env -- timeout 9 nice ", "stdbuf -o L -e 0 ",
}

--- Runs a script in some way that hands it to a shell or to eval.
function Generator:handed_script()
  self.depth = self.depth + 2
  local script = self:list(2)
  self.depth = self.depth - 2
  local shell = self.bash and "bash" or "sh"
  local way = self:int(9)
  if way == 1 then
    return "eval " .. self:quoted(script), ""
  elseif way == 2 then
    return self:here_shell(shell, script)
  elseif way == 3 then
    return "env X=1 " .. shell .. " -c " .. self:quoted(script), ""
  elseif way == 4 then
    return shell .. " -ec " .. self:quoted(script) .. " x y", ""
  elseif way == 5 then
    return "printf %s\\\\n " .. self:quoted(script) .. " | " .. shell, ""
  elseif way == 6 then
    return "find . -maxdepth 0 -exec " .. shell .. " -c " .. self:quoted(script) .. " x \\;", ""
  elseif way == 7 then
    return "(trap " .. self:quoted(script) .. " EXIT)", ""
  elseif way == 8 and shell == "bash" then
    return "bash <<< " .. self:quoted(script), ""
  end
  return shell .. " -c " .. self:quoted(script), ""
end

function Generator:here_shell(shell, script)
  local operator, body = self:here(script, true)
  if operator:sub(1, 3) == "<<-" then
    operator = "<<" .. operator:sub(4)
  end
  return shell .. " " .. operator, body
end

--- One simple command. Gives text and the bodies of its here-documents.
function Generator:simple()
  self.size = self.size + 1
  if self.depth < 5 and self:chance(12) then
    return self:handed_script()
  end
  local name, mark = self:command_words()
  local way = self:int(14)
  if way == 1 then
    return self:pick({ "echo x | xargs ", "echo x | xargs -n 1 ", "echo | xargs -I{} " })
      .. name .. " " .. mark, ""
  elseif way == 2 then
    local ending = self:pick({ " {} \\;", " {} +" })
    return "find . -maxdepth 0 -exec " .. name .. " " .. mark .. ending, ""
  elseif way == 3 then
    return ("env -S '%s %s'"):format(name, mark), ""
  elseif way == 4 then
    local form = self.dynamic and self:chance(10) and "v%d=%s; $v%d %s" or "{ v%d=%s; $v%d %s; }"
    return form:format(self.marker, name, self.marker, mark), ""
  elseif way == 5 then
    return ("(set -- x %s %s; shift; \"$@\")"):format(name, mark), ""
  elseif way == 6 and self.bash then
    return ("{%s,%s,x}"):format(name, mark), ""
  elseif way == 7 and self.bash then
    return ("{ a%d=(%s %s); \"${a%d[@]}\"; }"):format(self.marker, name, mark, self.marker), ""
  elseif way == 8 and self.dynamic and self:chance(10) then
    return ("$(echo %s | tr a a) %s"):format(name, mark), ""
  elseif way == 9 then
    return ("for n%d in %s; do $n%d %s; done"):format(self.marker, name, self.marker, mark), ""
  end

  local text = ""
  if self:chance(12) then
    local prefix = self:pick({ "A=1 ", "A='x y' B= ", false })
    text = prefix or ('A="' .. self:substitution(1) .. '" ')
  end
  if self:chance(20) then
    text = text .. self:pick(WRAPPERS)
  end
  text = text .. self:spell(name) .. " " .. mark .. self:arguments()
  local body = ""
  if self:chance(25) then
    local operator
    operator, body = self:redirect()
    text = text .. operator
  end
  return text, body
end

--- A compound command.
function Generator:compound()
  self.depth = self.depth + 1
  local text = self:compound_text(self:int(self.bash and 15 or 11))
  self.depth = self.depth - 1
  return text, ""
end

function Generator:separator()
  return self:pick({ "\n", "; ", " ;\n", "\n# " .. self:decoy() .. "\n" })
end

function Generator:compound_text(way)
  if way == 1 then
    return "( " .. self:list(3) .. " )"
  elseif way == 2 then
    return "{ " .. self:list(3) .. "\n}"
  elseif way == 3 then
    local text = "if " .. self:list(1) .. "\nthen " .. self:list(2)
    if self:chance(40) then
      text = text .. "\nelif " .. self:list(1) .. "\nthen\n" .. self:list(1)
    end
    if self:chance(50) then
      text = text .. "\nelse " .. self:list(2)
    end
    return text .. "\nfi"
  elseif way == 4 then
    return "while " .. self:list(1) .. "\ndo " .. self:list(2) .. "\nbreak; done"
  elseif way == 5 then
    return "until ! " .. self:one() .. "\ndo " .. self:list(2) .. "\nbreak; done"
  elseif way == 6 then
    return "for i in a b " .. self:substitution(1) .. "; do " .. self:list(2) .. "\ndone"
  elseif way == 7 then
    return self:case()
  elseif way == 8 then
    self.label = self.label + 1
    local name = "fun" .. self.label
    return name .. "() { " .. self:list(2) .. "\n}\n" .. name .. " x"
  elseif way == 9 then
    local name, mark = self:command_words()
    self.label = self.label + 1
    local caller = "call" .. self.label
    return ('%s() {\n  shift\n  "$@"\n}; %s x %s %s'):format(caller, caller, name, mark)
  elseif way == 10 then
    return "{ " .. self:list(2) .. "\n} >/dev/null 2>&1"
  elseif way == 11 then
    return "! { " .. self:list(1) .. "\n}"
  elseif way == 12 then
    return '[[ -n "' .. self:substitution(1) .. '" && a < b ]]'
  elseif way == 13 then
    return "(( 1 + 0" .. self:substitution(1) .. " ))"
  elseif way == 14 then
    self.label = self.label + 1
    return ("function fun%d {\n%s\n}\nfun%d"):format(self.label, self:list(1), self.label)
  end
  return "for ((i = 0; i < 2; i++)); do " .. self:list(1) .. "\ndone"
end

function Generator:case()
  local text = "case a" .. self:substitution(1) .. " in\n"
  for i = 1, self:int(3) do
    text = text .. self:pick({ "x|y) ", "(a) ", "a*) ", '"b)") ', "(esac*) " })
    text = text .. self:list(1) .. (i % 2 == 0 and "\n;;\n" or " ;;\n")
  end
  return text .. "esac"
end

--- One command with what pipes and && add. Ends its here-documents itself.
function Generator:one()
  local text, bodies
  if self.depth < 5 and self.size < 60 and self:chance(22) then
    text, bodies = self:compound()
  else
    text, bodies = self:simple()
  end
  while self.size < 60 and self:chance(18) do
    local more, body = self:simple()
    local operator = self:pick({ " | ", " && ", " || ", "|", "&&", " |\n" })
    if (bodies ~= "" or body ~= "") and operator:find("\n") then
      operator = " | "
    end
    text, bodies = text .. operator .. more, bodies .. body
  end
  if bodies ~= "" then
    text = text .. "\n" .. bodies
  end
  return text
end

--- Up to `most` commands.
function Generator:list(most)
  self.depth = self.depth + 1
  local text = ""
  for i = 1, self:int(most) do
    local one = self:one()
    if i > 1 and text:sub(-1) ~= "\n" then
      text = text .. self:separator()
    end
    text = text .. one
  end
  self.depth = self.depth - 1
  return text
end

--- A whole script.
---@return string text, {name: string, mark: string}[] runs
function Generator:script()
  local text = self:list(7)
  if self:chance(10) then
    text = "# " .. self:decoy() .. "\n" .. text
  end
  return text, self.runs
end

return shellgen
