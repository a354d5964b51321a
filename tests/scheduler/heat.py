#!/usr/bin/env python3
"""A cooling fault in one row of the twin: throttled and useful GPU-hours, blind to heat and aware of it."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from held import check, finish  # noqa: E402

LESS_PCT = 80
USEFUL = 0.99

muster = sys.argv[1]


def bench(seed):
    out = subprocess.run([muster, "bench", "heat", "--seed", str(seed), "-o", "json"], capture_output=True, text=True, check=True)
    return out.stdout, json.loads(out.stdout)


for seed in (1, 2, 3):
    text, r = bench(seed)
    blind, aware = r["blind"], r["aware"]
    check(blind["throttled_gpu_h"] > 20,
          f"seed {seed}: blind, {blind['throttled_gpu_h']:.1f} GPU-hours throttle in {r['fault_h']:.1f} h")
    check(r["throttled_less_pct"] >= LESS_PCT, f"seed {seed}: throttled GPU-hours fall by {r['throttled_less_pct']:.1f} % "
          f"(to {aware['throttled_gpu_h']:.1f})")
    check(r["useful_ratio"] >= USEFUL, f"seed {seed}: useful GPU-hours are {100 * r['useful_ratio']:.1f} % of the blind run's")
    check(60 <= aware["least_limit_pct"] < 100 and aware["limits_lifted"],
          f"seed {seed}: power limited to {aware['least_limit_pct']} % in {aware['limit_orders']} steps, and lifted again")
    check(blind["limit_orders"] == 0, f"seed {seed}: the blind run limits nothing")
again, _ = bench(1)
first, _ = bench(1)
check(again == first, "the same seed gives the same bytes")
finish()
