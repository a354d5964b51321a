-- The smallest job_submit.lua that passes jobs through Muster's gate. A site that has one of its own adds the pcall to its
-- slurm_job_submit instead, as its last step before it returns. Lies beside slurm.conf, with muster.lua.
--
-- Read anew for each job: a mistake in muster.lua is never in the way of a job, and a mended file works at once.

function slurm_job_submit(job_desc, part_list, submit_uid)
  pcall(function()
    local muster = dofile("@folder@/muster.lua")
    muster.heartbeat = "@heartbeat@"
    muster.partitions = { @partitions@ }
    muster.gate(job_desc, part_list, submit_uid)
  end)
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
