-- SPDX-License-Identifier: MIT
local failure = require("anvia.sandbox.engine.failure")

local RUN = "\n\nRun 'docker run --help' for more information\n"

describe("what a client says when it fails", function()
  local cases = {
    { "image_missing", "docker: Error response from daemon: No such image: nosuch:1" .. RUN,
      "No such image: nosuch:1" },
    { "image_missing", "Error: short-name \"x\": image not known", nil },
    { "name_in_use", 'docker: Error response from daemon: Conflict. The container name "/x" is '
      .. 'already in use by container "41bd". You have to remove it' .. RUN, nil },
    { "no_shell", "docker: Error response from daemon: failed to create shim task: OCI runtime "
      .. 'create failed: runc create failed: unable to start container process: exec: "/bin/sh": '
      .. "stat /bin/sh: no such file or directory: unknown." .. RUN,
      'unable to start container process: exec: "/bin/sh": stat /bin/sh: no such file or '
      .. "directory: unknown." },
    { "no_container", "Error response from daemon: No such container: x", nil },
    { "not_running", "Error response from daemon: Container 41bd is not running", nil },
    { "no_volume", "Error response from daemon: get v: no such volume", nil },
    { "volume_in_use", "Error response from daemon: remove v: volume is in use - [41bd]", nil },
    { "port_in_use", "docker: Error response from daemon: driver failed programming external "
      .. "connectivity on endpoint x: Bind for 127.0.0.1:80 failed: port is already allocated",
      nil },
    { "removing", "Error response from daemon: removal of container x is already in progress",
      nil },
    { nil, "docker: Error response from daemon: network nosuch not found" .. RUN,
      "network nosuch not found" },
  }

  for _, case in ipairs(cases) do
    it(("is read as %s: %s"):format(tostring(case[1]), case[2]:sub(1, 60)), function()
      assert.equal(case[1], failure.reason(case[2]))
      assert.is_false(failure.unreachable(case[2]))
      if case[3] then
        assert.equal(case[3], failure.summary(case[2]))
      end
    end)
  end

  for _, text in ipairs({
    "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
    "docker: Cannot connect to the Docker daemon at tcp://127.0.0.1:1. Is the docker daemon "
      .. "running?" .. RUN,
    "Failed to initialize: unable to resolve docker endpoint: context \"nope\": context not found",
    "permission denied while trying to connect to the Docker daemon socket at unix:///x",
    "error during connect: Get \"http://x/v1.50/version\": command [ssh] has exited",
  }) do
    it("is read as no engine: " .. text:sub(1, 50), function()
      assert.is_true(failure.unreachable(text))
    end)
  end

  it("may be nothing", function()
    assert.is_nil(failure.summary("\n \n"))
    assert.is_nil(failure.reason(""))
  end)
end)
