#!/usr/bin/env python3
"""The energy bill of deferrable work on real day-ahead prices: the saving against the optimum of who knows the whole year."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

PROMISED = 0.85

muster = sys.argv[1]
data = os.path.join(os.environ.get("MUSTER_DATA", ""), "cost")


def bench(name):
    path = os.path.join(data, name)
    out = subprocess.run([muster, "bench", "price", "--prices", path, "-o", "json"], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


if not os.path.exists(os.path.join(data, "dayahead_PJM_hourly.csv")):
    print("skip - sched_price: the public prices are not here (MUSTER_DATA is not set, or has no cost/dayahead_PJM_hourly.csv)")
    sys.exit(77)

for market in ("PJM", "DE"):
    report = bench(f"dayahead_{market}_hourly.csv")
    for t in report["tables"]:
        what = f"{market}, {t['stream']}, prices {t['prices']}"
        check(t["late"] == 0, f"{what}: {t['late']} of {t['jobs']} jobs late")
        cells = t["cells"]
        shown = ", ".join(f"{c['utilisation']:.0%} {c['saving_pct']:.1f}/{c['optimum_pct']:.1f}"
                          for c in cells if c["idle_share"] == 0)
        check(all(c["saving_pct"] <= c["optimum_pct"] + 1e-9 for c in cells), f"{what}: nobody beats the optimum")
        if t["stream"] == "daily":
            low = min(cells, key=lambda c: c["of_optimum"])
            check(len(cells) == 15 and low["of_optimum"] >= PROMISED,
                  f"{what}: at least {low['of_optimum']:.3f} of the optimum in all {len(cells)} cells "
                  f"(saved/possible %: {shown})")
        else:
            # A deadline of its own for each job lets the optimum carry work over days: see the docs.
            rest = [c for c in cells if c["utilisation"] < 0.85]
            low = min(rest, key=lambda c: c["of_optimum"])
            top = min((c for c in cells if c["utilisation"] > 0.85), key=lambda c: c["of_optimum"])
            check(low["of_optimum"] >= PROMISED, f"{what}: at least {low['of_optimum']:.3f} up to 80 % busy, "
                  f"{top['of_optimum']:.3f} at 90 % (saved/possible %: {shown})")
    reached = [f"{c['utilisation']:.0%}" for c in report["tables"][0]["cells"] if c["reaches_18_pct"]]
    print(f"# {market}: 18 % of the bill is reached at {', '.join(reached) or 'no'} utilisation (daily work)")

other = os.path.join(data, "power_limit_curves.csv")
broken = subprocess.run([muster, "bench", "price", "--prices", other], capture_output=True, text=True)
check(broken.returncode == 2 and "power_limit_curves.csv:1:" in broken.stderr, "a file without prices is refused with its line")
finish()
