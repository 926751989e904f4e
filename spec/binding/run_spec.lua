-- SPDX-License-Identifier: MIT

local core = require("anvia.sandbox.core")
local task = require("anvia.sandbox.task")

local function run(opts)
  return task.await(core.run(opts))
end

describe("core.run", function()
  it("returns output, errors and status, each whole", function()
    local result = run({ argv = { "sh", "-c", "echo out; echo err >&2; exit 3" } })
    assert.same({ "out\n", "err\n", 3 }, { result.stdout, result.stderr, result.exit_code })
    assert.is_nil(result.signal)
    assert.is_false(result.timed_out)
    assert.is_false(result.cancelled)
    assert.is_false(result.stdout_truncated)
    assert.equal(0, result.stdout_omitted_bytes)
    assert.is_true(result.duration_ms >= 0 and result.duration_ms < 10000)
  end)

  it("passes every byte both ways", function()
    local bytes = {}
    for i = 0, 255 do
      bytes[#bytes + 1] = string.char(i)
    end
    local input = table.concat(bytes):rep(1000)
    assert.equal(input, run({ argv = { "cat" }, input = input }).stdout)
    local argument = table.concat(bytes, "", 2)
    assert.equal(argument, run({ argv = { "printf", "%s", argument } }).stdout)
  end)

  it("never loses what was printed just before the exit (H013)", function()
    for _ = 1, 10 do
      local ops = {}
      for i = 1, 20 do
        ops[i] = core.run({ argv = { "sh", "-c", "head -c 65536 /dev/zero; printf END" } })
      end
      for i = 1, 20 do
        local result = task.await(ops[i])
        assert.equal(65539, #result.stdout)
        assert.equal("END", result.stdout:sub(-3))
        assert.equal(0, result.exit_code)
      end
    end
  end)

  it("does not call a program that ignores its input a failure (H016)", function()
    local result = run({ argv = { "true" }, input = ("x"):rep(50000000) })
    assert.equal(0, result.exit_code)
  end)

  it("returns the output read before the deadline", function()
    local result = run({ argv = { "sh", "-c", "echo early; sleep 30" }, timeout_ms = 300 })
    assert.is_true(result.timed_out)
    assert.is_false(result.cancelled)
    assert.equal("early\n", result.stdout)
    assert.is_nil(result.exit_code)
    assert.equal(9, result.signal)
    assert.is_true(result.duration_ms >= 300 and result.duration_ms < 2000)
  end)

  it("keeps the deadline when something else holds the pipes (H028)", function()
    local start = core.now_ms()
    local result = run({
      argv = { "sh", "-c", "setsid sleep 9 & echo $!; wait" },
      timeout_ms = 300,
    })
    assert.is_true(result.timed_out)
    assert.is_true(core.now_ms() - start < 2300)
    os.execute("kill " .. result.stdout)
  end)

  it("keeps the start, the end or both of too much output", function()
    local argv = { "sh", "-c", "printf 0123456789" }
    for keep, kept in pairs({ head = "0123", tail = "6789", both = "0189" }) do
      local result = run({ argv = argv, max_output_bytes = 4, keep = keep })
      assert.equal(kept, result.stdout)
      assert.is_true(result.stdout_truncated)
      assert.equal(6, result.stdout_omitted_bytes)
      assert.is_false(result.stderr_truncated)
    end
    assert.equal("", run({ argv = argv, max_output_bytes = 0 }).stdout)
  end)

  it("reads endless output without keeping it", function()
    local result = run({ argv = { "yes" }, timeout_ms = 500, max_output_bytes = 1000 })
    assert.is_true(result.timed_out)
    assert.is_true(#result.stdout <= 1000)
    assert.is_true(result.stdout_omitted_bytes > 100000)
  end)

  it("changes the environment on top of the host's", function()
    local result = run({
      argv = { "sh", "-c", 'echo "$A|${HOME-unset}|${PATH:+path}"' },
      env = { A = "a b\n=c", HOME = false },
    })
    assert.equal("a b\n=c|unset|path\n", result.stdout)
  end)

  it("finds the program in the host's PATH, whatever PATH it is given", function()
    assert.equal("/nowhere\n", run({
      argv = { "sh", "-c", "echo $PATH" },
      env = { PATH = "/nowhere" },
    }).stdout)
  end)

  it("names a program that is missing, and why", function()
    local result, err = run({ argv = { "no-such-client" } })
    assert.is_nil(result)
    assert.equal("docker_unavailable", err.code)
    assert.equal("cannot run 'no-such-client': no such file or directory", err.message)
    assert.equal("docker_unavailable: " .. err.message, tostring(err))
  end)

  it("refuses wrong options at the caller's line, naming the field", function()
    local wrong = {
      { { argv = {} }, "option 'argv' must name a program" },
      { { argv = { "" } }, "option 'argv' must name a program" },
      { {}, "option 'argv' must be an array of strings" },
      { { argv = "ls" }, "option 'argv' must be an array of strings" },
      { { argv = { "a", 1 } }, "option 'argv[2]' must be a string" },
      { { argv = { "a\0b" } }, "option 'argv[1]' must not contain a NUL byte" },
      { { argv = { "a", "\0" } }, "option 'argv[2]' must not contain a NUL byte" },
      { { env = { A = 1 } }, "option 'env.A' must be a string or false" },
      { { env = { A = true } }, "option 'env.A' must be a string or false" },
      { { env = { A = "x\0y" } }, "option 'env.A' must not contain a NUL byte" },
      { { env = { ["A=B"] = "x" } }, "option 'env.A=B' must not contain" },
      { { env = { ["A\0B"] = "x" } }, "option 'env.A' must not contain a NUL byte" },
      { { env = { "x" } }, "option 'env' must have names as its keys" },
      { { env = "x" }, "option 'env' must be a table of strings" },
      { { input = 5 }, "option 'input' must be a string" },
      { { timeout_ms = 0 }, "option 'timeout_ms' must be between 1 and 9007199254740992" },
      { { timeout_ms = -5 }, "option 'timeout_ms' must be between 1 and" },
      { { timeout_ms = 0.5 }, "option 'timeout_ms' must be an integer" },
      { { timeout_ms = 0 / 0 }, "option 'timeout_ms' must be an integer" },
      { { timeout_ms = math.huge }, "option 'timeout_ms' must be an integer" },
      { { timeout_ms = "10" }, "option 'timeout_ms' must be an integer" },
      { { timeout_ms = 2 ^ 54 }, "option 'timeout_ms' must be between 1 and" },
      { { max_output_bytes = -1 }, "option 'max_output_bytes' must be between 0 and" },
      { { keep = "middle" }, [[option 'keep' must be "head", "tail" or "both"]] },
      { { timeout = 5 }, "unknown option 'timeout'" },
      { { 5 }, "option names must be strings, not number" },
    }
    for _, case in ipairs(wrong) do
      local opts = case[1]
      if opts.argv == nil and next(opts) ~= nil then
        opts.argv = { "true" }
      end
      local ok, message = pcall(function()
        return (core.run(opts))
      end)
      assert.is_false(ok)
      assert.truthy(message:find(case[2], 1, true), message)
      assert.truthy(message:find("run_spec.lua:%d+: "), message)
    end
  end)

  it("takes huge and integral time-outs (H032)", function()
    for _, ms in ipairs({ 1e12, 2 ^ 53, 5000.0, 2 ^ 31, 2 ^ 32 + 1 }) do
      assert.equal("x\n", run({ argv = { "echo", "x" }, timeout_ms = ms }).stdout)
    end
  end)

  it("ends in bounded time, without a status, where SIGCHLD is ignored (H015)", function()
    local script = [[
      local core, task = require("anvia.sandbox.core"), require("anvia.sandbox.task")
      local r = task.await(core.run{argv = {"sh", "-c", "echo partial; exit 5"}})
      print(r.stdout, r.exit_code, r.signal)
      r = task.await(core.run{argv = {"sh", "-c", "sleep 30"}, timeout_ms = 200})
      print(r.timed_out, r.exit_code, r.duration_ms < 3000)
      print(select(2, task.await(core.run{argv = {"/no/such"}})).code)]]
    local result = run({
      argv = { "env", "--ignore-signal=CHLD", os.getenv("SBX_LUA") or "lua5.4", "-e", script },
      env = { LUA_PATH = package.path, LUA_CPATH = package.cpath },
      timeout_ms = 30000,
    })
    assert.equal("", result.stderr)
    assert.equal("partial\n\tnil\tnil\ntrue\tnil\ttrue\ndocker_unavailable\n", result.stdout)
  end)
end)
