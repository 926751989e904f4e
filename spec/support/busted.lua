-- SPDX-License-Identifier: MIT
-- Starts busted in this interpreter, instead of the one that the command
-- installed on the machine was made for.
require("busted.runner")({ standalone = false })
