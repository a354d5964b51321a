#!/bin/sh
# muster-hook.sh: Slurm's Prolog and Epilog, with Muster's word on the node first and the site's own programs after it.
#
#   Prolog=/etc/slurm/muster-hook.sh
#   Epilog=/etc/slurm/muster-hook.sh
#   PrologFlags=Alloc                 all nodes at once, when the job is allocated
#
# It asks nobody: the node's agent keeps one line in a file, and reading that starts no program. A node that is fit, or that has
# trouble a job can live with, passes at once. Only where the line says `broken`, is old or is missing, `muster check` decides: it says
# no with two witnesses that agree, at most once an hour, and passes whatever is not known. A hook that says no makes Slurm drain the
# node with the reason "Prolog error" or "Epilog error" and requeue the job.
#
# Settings, all optional, in muster-hook.conf beside this file, which is read as shell:
#
#   spool=/var/lib/muster-agent       the agent's folder
#   muster=muster                     the program
#   prolog=  epilog=                  the site's own programs: their exit status is this one's
#   starts=                           folder, shared by all nodes, for the times of hooks: `muster explain start` reads it. None: nowhere
spool=/var/lib/muster-agent
muster=muster
prolog=
epilog=
starts=
# shellcheck source=/dev/null
if [ -r "${0%/*}/muster-hook.conf" ]; then . "${0%/*}/muster-hook.conf"; fi

case ${SLURM_SCRIPT_CONTEXT:-prolog} in
  epilog*) kind=epilog site=$epilog ;;
  *) kind=prolog site=$prolog ;;
esac
if [ -n "$starts" ]; then began=$(date +%s.%N); fi

# Whether the file speaks of this boot and of now; both are read without starting a program.
passes() {
  word='' boot='' stamp='' here='' up=''
  [ -f "$spool/verdict" ] && { read -r word boot stamp _ < "$spool/verdict"; } 2> /dev/null || return 1
  { read -r here < /proc/sys/kernel/random/boot_id && read -r up _ < /proc/uptime; } 2> /dev/null || return 1
  case $word in fit | trouble) ;; *) return 1 ;; esac
  case $stamp in '' | *[!0-9]*) return 1 ;; esac
  age=$((${up%%.*} - stamp))
  [ "$boot" = "$here" ] && [ "$age" -le 30 ] && [ "$age" -ge -30 ]
}

status=0
if ! passes && command -v "$muster" > /dev/null 2>&1; then
  "$muster" check --"$kind" --spool "$spool"
  # 6 is its no. Anything else is a mistake of ours, and no reason to drain a node.
  if [ $? -eq 6 ]; then status=6; fi
fi
if [ $status -eq 0 ] && [ -n "$site" ]; then
  "$site"
  status=$?
fi
if [ -n "$starts" ]; then
  # One file a node: nobody waits for another's lock.
  printf '%s %s %s %s %s %s\n' "${SLURM_JOB_ID:-0}" "${SLURM_JOB_RESTART_COUNT:-0}" "$kind" "$began" "$(date +%s.%N)" \
    "$status" 2> /dev/null >> "$starts/${SLURMD_NODENAME:-$(hostname)}"
fi
exit $status
