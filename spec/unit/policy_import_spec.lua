-- SPDX-License-Identifier: MIT
local policy = require("anvia.sandbox.policy")

local function call(...)
  return { tool = "exec_command", command = (...), args = { select(2, ...) } }
end

local CODEX = {
  rules = {
    { pattern = { "git", { "status", "log" } }, decision = "allow", match = { { "git", "log" },
      "git status" }, not_match = { "git push" } },
    { pattern = { "git", "push" }, decision = "forbidden", justification = "not \"today\"" },
    { pattern = { "npm" }, decision = "prompt" },
    { pattern = { "echo", "*" } },
  },
}

local CLAUDE = {
  permissions = {
    allow = { "Bash(git status:*)", "Bash(npm run test)", "Bash(npm run lint *)", "Read(src/**)",
      "Edit(/docs/**)", "Read(//etc/hosts)", "WebFetch(domain:example.com)", "Bash(make:*)" },
    deny = { "Bash(curl:*)", "Read(./.env)", "Write(secrets/**)", "Bash(git push:*)" },
    ask = { "Bash(make deploy)", "Read(~/x)" },
  },
}

describe("import", function()
  it("reads Codex prefix rules", function()
    local made, err, imported = policy.import(CODEX)
    assert.is_nil(err)
    assert.same({}, imported.notes)
    assert.equal("allow", made:judge(call("git", "log", "-3")).answer)
    assert.equal("ask", made:judge(call("git", "diff")).answer)
    assert.equal("deny", made:judge(call("git", "push")).answer)
    assert.equal("not \"today\"", made:judge(call("git", "push")).because)
    assert.equal("ask", made:judge(call("npm", "test")).answer)
    assert.equal("allow", made:judge(call("echo", "*")).answer)
    assert.equal("ask", made:judge(call("echo", "x")).answer)
  end)

  it("keeps the tests of the rules", function()
    local _, err = policy.import({ { pattern = { "git" }, match = { "npm test" } } })
    assert.is_truthy(err.message:find("does not match", 1, true))
  end)

  it("reads Claude Code permissions", function()
    local made, err, imported = policy.import(CLAUDE)
    assert.is_nil(err)
    assert.equal(2, #imported.notes)
    local answers = {
      { call("git", "status", "-s"), "allow" }, { call("git", "push", "x"), "deny" },
      { call("git", "log"), "ask" }, { call("npm", "run", "test"), "allow" },
      { call("npm", "run", "test", "x"), "ask" }, { call("npm", "run", "lint"), "allow" },
      { call("npm", "run", "lint", "x"), "allow" }, { call("make"), "allow" },
      { call("make", "deploy"), "ask" }, { call("curl", "x"), "deny" },
      { { tool = "read_file", path = "src/a" }, "allow" },
      { { tool = "read_file", path = ".env" }, "deny" },
      { { tool = "read_file", path = "/etc/hosts" }, "allow" },
      { { tool = "write_file", path = "docs/a" }, "allow" },
      { { tool = "write_file", path = "secrets/a" }, "deny" },
      { { tool = "write_file", path = "x" }, "ask" },
    }
    for _, case in ipairs(answers) do
      local text, verdict = made:explain(case[1])
      assert.equal(case[2], verdict.answer, text)
    end
    assert.is_truthy(imported.text:find("deny { write = \"secrets/**\" }", 1, true), imported.text)
  end)

  it("makes a refusal wider rather than narrower", function()
    local made, err, imported = policy.import({ deny = { "Bash(git * --force)", "Bash(rm -rf *)" },
      allow = { "Bash(cargo run * main)" } })
    assert.is_nil(err)
    assert.equal(1, #imported.notes)
    assert.equal("deny", made:judge(call("git", "push", "origin", "--force")).answer)
    assert.equal("deny", made:judge(call("rm", "-r", "-f", "x")).answer)
    assert.equal("ask", made:judge(call("cargo", "run", "a", "b", "main")).answer)
  end)

  it("gives a text that loads to the same", function()
    for _, source in ipairs { CODEX, CLAUDE } do
      local text = policy.import_text(source)
      local made, err = policy.load(text)
      assert.is_nil(err)
      assert.is_nil(made.error)
    end
  end)

  it("reads JSON", function()
    local made = policy.import("{\"rules\":[{\"pattern\":[\"ls\"],\"decision\":\"allow\"}]}")
    assert.equal("allow", made:judge(call("ls")).answer)
  end)

  it("refuses everything when it cannot read", function()
    for _, source in ipairs { "{", "5", "{}", "[]", {}, { rules = { { pattern = {} } } },
      { rules = { { pattern = { "x" }, decision = "maybe" } } },
      { permissions = { allow = { 5 } } },
      { rules = { { pattern = { 5 } } } } } do
      local made, err = policy.import(source)
      assert.is_truthy(err)
      assert.equal("deny", made:judge(call("ls")).answer)
    end
  end)

  it("cannot be made to say more than it says", function()
    local made, err = policy.import({ rules = {
      { pattern = { "x", "\" } allow { exec = \"*" }, decision = "forbidden",
        justification = "\n} allow { exec = \"*\" }" },
    } })
    assert.is_nil(err)
    assert.equal("ask", made:judge(call("ls")).answer)
  end)
end)
