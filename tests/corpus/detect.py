#!/usr/bin/env python3
"""Precision and recall of the detectors on the labelled corpus in this folder: printed by class, and held to their limits."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

LEAST = 0.97
CASES = 750

muster = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))


def bench(*args):
    return subprocess.run([muster, "bench", "detect", *args], capture_output=True, text=True)


out = bench("--corpus", here, "-o", "json")
r = json.loads(out.stdout)
check(out.returncode == 0 and out.stderr == "", "the bench runs and says nothing on stderr")
check(r["cases"] >= CASES and r["quiet_cases"] >= 100, f"{r['cases']} cases, {r['quiet_cases']} of them with nothing wrong")
for name, c in sorted(r["classes"].items()):
    print(f"#   {name:<20} precision {c['precision']:.3f} recall {c['recall']:.3f} of {c['expected']}")
for line in r["misses"][:20]:
    print("#   missed " + line)
for line in r["false_alarm_list"][:20]:
    print("#   false alarm " + line)
check(r["precision"] >= LEAST, f"precision {r['precision']:.3f}")
check(r["recall"] >= LEAST, f"recall {r['recall']:.3f}")
p = r["prediction"]
print(f"#   warnings: precision {p['precision']:.3f}, recall {p['recall']:.3f}, median lead {p['lead_h_p50']:.1f} h, "
      f"said {p['said_pct']} %")
check(p["precision"] >= 0.75 and p["recall"] >= 0.6 and p["lead_h_p50"] >= 4, "warnings come true, and in time")
check(abs(100 * p["precision"] - p["said_pct"]) <= 8, "and as often as they say")
few = [name for name, c in r["classes"].items() if c["expected"] < 8]
check(not few and len(r["classes"]) >= 32, f"each class has at least 8 planted faults: {few}")
worst = min(r["classes"].values(), key=lambda c: min(c["precision"], c["recall"]))
check(min(worst["precision"], worst["recall"]) >= 0.9, "no class is far below the others")
check(bench("--corpus", here, "-o", "json").stdout == out.stdout, "twice the same bytes")
check("CLASS" in bench("--corpus", here).stdout, "the table has a head")

with tempfile.TemporaryDirectory() as d:
    check(bench("--corpus", d).returncode == 3, "a folder without cases: exit 3")
    check(bench("--corpus", os.path.join(d, "none")).returncode == 3, "no such folder: exit 3")
    with open(os.path.join(d, "a.cases"), "w") as f:
        f.write("@case planted and missed\n@expect gpu_lost n0/1\n@at 1s\n\n@case false\n@kmsg n0\n"
                "4,1,1,-;NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n")
    r = json.loads(bench("--corpus", d, "-o", "json").stdout)
    check(r["recall"] == 0 and r["precision"] == 0 and len(r["misses"]) == 1 and len(r["false_alarm_list"]) == 1,
          "a miss and a false alarm are counted and named")
    with open(os.path.join(d, "a.cases"), "w") as f:
        f.write("@case x\n@expect nonsense n0/1\n")
    broken = bench("--corpus", d)
    check(broken.returncode != 0 and "a.cases:2" in broken.stderr, "a mistake in a case is told with its line")
finish()
