-- SPDX-License-Identifier: MIT
-- Runs scripts with a real shell in a directory of stub programs, and tells what was started.
--
-- Each stub only writes its name and first argument to a log. The scripts find nothing else but a
-- few real tools (env, xargs, find ...), so they are harmless.

local stubpath = {}

local TOOLS = {
  "env", "xargs", "find", "timeout", "nice", "nohup", "stdbuf", "tr", "cat", "true", "false",
  "echo", "tee", "touch", "chmod", "sleep", "kill",
}

-- Notes the first line of the first argument only, so that a note is a line.
local STUB = [[
#!/bin/sh
mark=${1%%%%
*}
printf '%%s\n' "${0##*/} $mark" >>"%s.$STUB_RUN"
]]

local function capture(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

--- The path of a program on this machine, or nil.
function stubpath.find(name)
  local path = capture("command -v " .. name .. " 2>/dev/null"):match("^%s*(/%S+)")
  return path
end

--- A new directory with stubs.
---@param shell string[]   how to start the shell: {"/bin/busybox", "sh"}
---@param names string[]   the stubs
function stubpath.new(shell, names)
  local root = capture("mktemp -d"):match("%S+")
  local bin, log = root .. "/bin", root .. "/log"
  os.execute("mkdir -p " .. bin .. " " .. root .. "/scripts " .. root .. "/work")
  for _, name in ipairs(names) do
    write(bin .. "/" .. name, STUB:format(log))
  end
  for _, tool in ipairs(TOOLS) do
    local path = stubpath.find(tool)
    if path then
      os.execute(("ln -s %s %s/%s"):format(path, bin, tool))
    end
  end
  write(bin .. "/sh", "#!/bin/sh\nexec " .. table.concat(shell, " ") .. ' "$@"\n')
  local bash = stubpath.find("bash")
  if bash then
    os.execute(("ln -s %s %s/bash"):format(bash, bin))
  end
  os.execute("chmod +x " .. bin .. "/*")
  return setmetatable({ root = root, bin = bin, log = log, shell = shell }, { __index = stubpath })
end

--- Runs the scripts, each in a directory of its own.
---@param scripts string[]
---@return {name: string, mark: string}[][] started  for each script
function stubpath:run(scripts)
  for i, text in ipairs(scripts) do
    write(("%s/scripts/%d"):format(self.root, i), text)
  end
  write(self.root .. "/one", ([[
mkdir %s/work/$1 && cd %s/work/$1 || exit
exec env -i PATH=%s STUB_RUN=$1 timeout -k 1 5 %s ../../scripts/$1 </dev/null >/dev/null 2>&1
]]):format(self.root, self.root, self.bin, table.concat(self.shell, " ")))
  write(self.root .. "/all", ([[
i=0
while [ $i -lt %d ]; do i=$((i + 1)); echo $i; done | xargs -n 1 -P 4 sh %s/one
]]):format(#scripts, self.root))
  os.execute("sh " .. self.root .. "/all")
  local out = {}
  for i = 1, #scripts do
    local started = {}
    local file = io.open(self.log .. "." .. i, "rb")
    if file then
      for name, mark in file:read("*a"):gmatch("(%S+) ([^\n]*)\n") do
        started[#started + 1] = { name = name, mark = mark }
      end
      file:close()
    end
    out[i] = started
  end
  return out
end

function stubpath:remove()
  os.execute("rm -rf " .. self.root)
end

return stubpath
