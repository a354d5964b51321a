-- Muster's gate for the site's own job_submit.lua. A job that Muster shall place waits with a start time an hour away; Muster
-- then names its nodes and starts it. In job_submit.lua, inside slurm_job_submit:
--
--   pcall(function()
--     local muster = dofile("/etc/slurm/muster.lua")
--     muster.heartbeat = "/run/muster/heartbeat"
--     muster.partitions = { batch = true }
--     muster.gate(job_desc, part_list, submit_uid)
--   end)
--
-- Not as a bare dofile at the top of job_submit.lua: with a damaged file there, slurmctld 22.05 ends when it is next started.
--
-- Whatever goes wrong here, the job goes to Slurm as it came: nothing in this file rejects a job, and the pcall above covers even
-- a file that is damaged or gone. A job waits only while Muster's heartbeat is fresh; muster-release.sh lets waiting jobs go once
-- it is not; and without either a job starts by Slurm's own scheduling when its hour is over. Needs no module beside Lua's own,
-- starts no program, and reads one line of one file.

local muster = {
  heartbeat = "/run/muster/heartbeat", -- Muster writes the time into it every few seconds: whole seconds since 1970, one line
  partitions = {},                     -- only jobs of these wait: { batch = true }
  fresh_s = 15,                        -- a heartbeat of another age counts as none
  wait_s = 3600,                       -- when a job starts even if nobody lets it go
}

local UNSET_32, UNSET_64 = 4294967294, 18446744073709551614 -- Slurm's NO_VAL and NO_VAL64

local function given(value)
  if value == nil or value == "" or value == false then return false end
  local number = tonumber(value)
  return number == nil or (number ~= 0 and number ~= UNSET_32 and number ~= UNSET_64)
end

-- Lua cannot ask for a file's age, so the time stands inside. A time to come is no better than an old one: a clock was set.
function muster.is_fresh(now)
  local file = io.open(muster.heartbeat, "r")
  if not file then return false end
  local line = file:read("*l")
  file:close()
  local beat = tonumber(line and line:match("^%d+"))
  return beat ~= nil and math.abs(now - beat) < muster.fresh_s
end

-- The one partition that the job goes to, or nil. Of several the first that is free takes the job: only Slurm can do that.
local function partition_of(job_desc, part_list)
  local name = job_desc.partition
  if name == nil or name == "" then
    for part_name, part in pairs(part_list) do
      if part.flag_default == 1 then name = part_name end
    end
  end
  if name == nil or name:find(",", 1, true) then return nil end
  return name
end

-- Why a job is Slurm's alone, or nil.
local function left_to_slurm(job_desc)
  -- The user chose a time; it is not ours to change, nor could it be told from the gate afterwards.
  if given(job_desc.begin_time) then return "it has a start time of its own" end
  -- Tasks of an array share one record until they start: nodes cannot be named for one of them.
  if given(job_desc.array_inx) then return "it is an array" end
  -- When it may start is decided by other jobs; a start time of now would not change that, and nodes named early are lost.
  if given(job_desc.dependency) then return "it waits for other jobs" end
  -- Its nodes are chosen already, or by what Muster does not know of them.
  if given(job_desc.reservation) then return "it asks for a reservation" end
  if given(job_desc.req_nodes) or given(job_desc.exc_nodes) then return "it names nodes" end
  -- How many it gets depends on how many are free when it starts.
  if given(job_desc.max_nodes) and given(job_desc.min_nodes) and tonumber(job_desc.max_nodes) ~= tonumber(job_desc.min_nodes) then
    return "it takes any of several numbers of nodes"
  end
  if given(job_desc.features) or given(job_desc.licenses) then return "it asks for features or licences" end
  if given(job_desc.req_switch) then return "it asks for --switches" end
  -- Parts of one job that start together: starting them one by one breaks them. 0 is the first part, so `given` would not see it.
  local part = tonumber(job_desc.het_job_offset)
  if part ~= nil and part ~= UNSET_32 then return "it is part of a heterogeneous job" end
  -- Starts now or not at all: a start time would refuse it.
  if given(job_desc.immediate) then return "it starts now or not at all" end
  -- Someone waits at a terminal, and srun --begin is not what they asked for.
  if not given(job_desc.script) then return "it is interactive" end
  -- scrontab keeps the start times of these itself.
  if given(job_desc.cron_job) then return "it is scrontab's" end
  -- Another cluster may take it.
  if given(job_desc.clusters) then return "it may go to other clusters" end
  return nil
end

local function gate(job_desc, part_list)
  local partition = partition_of(job_desc, part_list)
  if partition == nil or not muster.partitions[partition] then return end
  local now = os.time()
  if not muster.is_fresh(now) then return end
  local comment = job_desc.admin_comment
  local why = left_to_slurm(job_desc)
  if why ~= nil then
    -- So that whoever asks finds out why Muster did not place it.
    if not given(comment) then job_desc.admin_comment = "muster: left to Slurm: " .. why end
    return
  end
  -- The comment first: a job that waited without it would not be found by those who let jobs go.
  job_desc.admin_comment = given(comment) and ("muster: gate; " .. comment) or "muster: gate"
  job_desc.begin_time = now + muster.wait_s
  return true
end

-- True if the job waits for Muster now. Never an error.
function muster.gate(job_desc, part_list, _)
  local sound, answer = pcall(gate, job_desc, part_list)
  if not sound then pcall(function() slurm.log_error("muster.lua: %s; the job is left to Slurm", tostring(answer)) end) end
  return sound and answer == true
end

return muster
