-- SPDX-License-Identifier: MIT
-- Arguments and environment arrive byte for byte, whatever the shell of the image thinks
-- of the names: dash drops a whole environment for a bad OPTIND, bash keeps UID.

local bash_image = require("spec.support.bash_image")
local helper = require("spec.helper")

local NAMES = {
  "BASHOPTS", "BASHPID", "BASH_ENV", "BASH_SUBSHELL", "BASH_VERSINFO", "BASH_XTRACEFD",
  "CDPATH", "DIRSTACK", "ENV", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HOME", "IFS",
  "LANG", "LC_ALL", "LINENO", "MAIL", "OLDPWD", "OPTARG", "OPTIND", "PIPESTATUS",
  "POSIXLY_CORRECT", "PPID", "PS1", "PS4", "PWD", "RANDOM", "SECONDS", "SHELLOPTS",
  "SHLVL", "SRANDOM", "TMOUT", "UID", "_",
}
local VALUES = { "abc", "5", "", "a b*/?$x'\n" }

local function environment_of(result)
  local env = {}
  for name, value in result.stdout:gmatch("([^=%z]+)=(%Z*)%z") do
    env[name] = value
  end
  return env
end

describe("a command", function()
  if not helper.engine(helper.DEBIAN) then
    return
  end

  setup(function()
    bash_image.make(helper.DEBIAN)
  end)
  teardown(bash_image.remove)

  for _, image in ipairs({ helper.BUSYBOX, helper.DEBIAN, bash_image.NAME }) do
    it("gets the environment that was asked for: " .. image, function()
      local session = helper.session({ image = image })
      for _, value in ipairs(VALUES) do
        local env = { A = "one", Z = "two", PATH = value .. "/x:/usr/bin:/bin" }
        for _, name in ipairs(NAMES) do
          env[name] = value
        end
        local result = assert(session:exec({
          command = "cat",
          args = { "/proc/self/environ" },
          env = env,
        }))
        local got = environment_of(result)
        for name, wanted in pairs(env) do
          assert.are.equal(wanted, got[name], name)
        end
        assert.are.equal("", result.stderr)
      end
    end)

    it("gets every byte in arguments and values: " .. image, function()
      local session = helper.session({ image = image })
      local args, env, wanted = { "%s\\0" }, {}, {}
      for byte = 1, 255 do
        local char = string.char(byte)
        for _, text in ipairs({ char, char .. "q'" .. char, "" }) do
          args[#args + 1], wanted[#wanted + 1] = text, text
        end
        env["V" .. byte] = char .. "'" .. char .. "\\"
      end
      local result = assert(session:exec({ command = "printf", args = args }))
      assert.are.equal(table.concat(wanted, "\0") .. "\0", result.stdout)
      local got = environment_of(assert(session:exec({
        command = "cat",
        args = { "/proc/self/environ" },
        env = env,
      })))
      for name, value in pairs(env) do
        assert.are.equal(value, got[name], name)
      end
    end)

    it("that is missing is so with such a name, too: " .. image, function()
      local session = helper.session({ image = image })
      local result, err = session:exec({ command = "nosuch", env = { UID = "5" } })
      assert.is_nil(result)
      assert.are.equal("process", err.code)
      result, err = session:exec({
        command = "/bin/true",
        env = { UID = "5", PATH = "/nowhere" },
      })
      if session.runner == "supervisor" then -- sets any environment by itself
        assert.are.equal(0, assert(result, err).exit_code)
      else
        assert.is_nil(result)
        assert.is_truthy(err.message:find("no env program", 1, true), err.message)
      end
    end)
  end
end)
