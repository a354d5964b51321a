// Readings of the GPU under the pointer, for the tooltips of both maps.
import { useContext, useEffect, useState } from 'preact/hooks';
import { get } from '../api.js';
import type { Gpu, NodeDetail } from '../types.js';
import { Here } from './nav.js';

const kRestMs = 120;

// Once the pointer rests on the node; of the past there are none.
export function use_readings(name: string, slot: number): string[] {
  const [detail, set_detail] = useState<NodeDetail | null>(null);
  const at = useContext(Here)?.view.at ?? '';
  useEffect(() => {
    if (at) return;
    let current = true;
    const timer = setTimeout(() => {
      get(`/api/v1/nodes/${encodeURIComponent(name)}`).then(
        (node) => current && set_detail(node as NodeDetail),
        () => undefined, // the tooltip does without
      );
    }, kRestMs);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [name, at]);
  const gpu = detail?.name === name && !at ? detail.gpus.find((g) => g.slot === slot) : undefined;
  return gpu ? words_of(gpu) : [];
}

function words_of(gpu: Gpu): string[] {
  const known = (value: number | null, unit: string) => (value !== null && value >= 0 ? [`${Math.round(value)} ${unit}`] : []);
  return [
    ...known(gpu.temp_c, '°C'), ...known(gpu.power_w, 'W'), ...known(gpu.util_pct, '% busy'), ...known(gpu.sm_clock_mhz, 'MHz'),
  ];
}
