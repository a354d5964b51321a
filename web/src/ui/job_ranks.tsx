import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { css, make_palette, palette_rgb, scale_colour } from '../atlas.js';
import { count, integer, percent, place, shell_word } from '../format.js';
import {
  columns_known, columns_missing, filter_ranks, place_of_rank, rank_at, ranks_of_node, reading_text, strip_layout,
  type RanksAnswer, type RankRow, type Strip,
} from '../job_ranks.js';
import type { Live } from '../live.js';
import type { Asked } from './ask.js';
import { Empty, Panel, TroubleBox } from './bits.js';
import { ViewLink } from './job_link.js';

const kRowsMax = 16; // unless they are looked for

function draw(canvas: HTMLCanvasElement, strip: Strip, answer: RanksAnswer, theme: string, node: string): void {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.ceil(strip.width * scale);
  canvas.height = Math.ceil(strip.height * scale);
  canvas.style.width = `${strip.width}px`;
  canvas.style.height = `${strip.height}px`;
  const context = canvas.getContext('2d');
  if (!context) return;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, strip.width, strip.height);
  const palette = make_palette(theme, 'peers', {});
  const size = strip.cell - strip.gap;
  for (let rank = 0; rank < answer.ranks; ++rank) {
    const letter = answer.letters[rank] ?? '-';
    const [x, y] = [(rank % strip.columns) * strip.cell, Math.floor(rank / strip.columns) * strip.cell];
    context.fillStyle = css(palette_rgb(palette, letter));
    context.fillRect(x, y, size, size);
    if (letter === '~' && size >= 6) { // not by its colour alone
      context.fillStyle = theme === 'light' ? '#ffffff' : '#000000';
      context.fillRect(x + size / 2 - 1, y + size / 2 - 1, 2, 2);
    }
  }
  const chosen = ranks_of_node(answer.nodes, node);
  if (!chosen) return;
  context.strokeStyle = getComputedStyle(canvas).color;
  context.lineWidth = 1.5;
  for (let rank = chosen.first; rank < chosen.first + chosen.count; ++rank) {
    context.strokeRect((rank % strip.columns) * strip.cell + 0.5, Math.floor(rank / strip.columns) * strip.cell + 0.5,
      size - 1, size - 1);
  }
}

function StripView({ answer, theme, node, live }: { answer: RanksAnswer; theme: string; node: string; live: Live }) {
  const room = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, set_width] = useState(0);
  const [over, set_over] = useState<number | null>(null);
  useEffect(() => {
    const element = room.current;
    if (!element) return;
    const observer = new ResizeObserver(() => set_width(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const strip = useMemo(() => strip_layout(answer.ranks, answer.nodes[0]?.[1] ?? 1, Math.max(60, width)),
    [answer.ranks, answer.nodes[0]?.[1], width]);
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, strip, answer, theme, node);
  }, [strip, answer.letters, theme, node, width]);
  const under = (event: MouseEvent) => rank_at(strip, answer.ranks, event.offsetX, event.offsetY);
  const choose = (rank: number | null) => {
    const found = rank === null ? null : place_of_rank(answer.nodes, rank);
    if (found) live.go({ node: found.node });
  };
  const key = (event: KeyboardEvent) => {
    const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (way === undefined || answer.nodes.length === 0) return;
    event.preventDefault();
    const index = answer.nodes.findIndex(([name]) => name === node);
    const next = index < 0 ? 0 : Math.max(0, Math.min(answer.nodes.length - 1, index + way));
    live.go({ node: answer.nodes[next]![0] });
  };
  const at = over === null ? null : place_of_rank(answer.nodes, over);
  const odd = answer.rows.filter((r) => r.stands_out).length;
  return (
    <div class="ranks-strip" ref={room}>
      <canvas ref={canvas} tabIndex={0} role="img" data-ranks={answer.ranks}
        aria-label={`${count(answer.ranks, 'rank')}, coloured by how far each is behind its gang; ${odd} stand out. ` +
          `Arrow keys choose a node${node ? `; chosen: ${node}` : ''}.`}
        onMouseMove={(event) => set_over(under(event))} onMouseLeave={() => set_over(null)}
        onClick={(event) => choose(under(event))} onKeyDown={key} />
      <p class="line" aria-live="off">
        {at && over !== null ? <span>rank <b>{integer(over)}</b> on <b>{at.node}</b>, its GPU {at.index + 1} there</span>
          : <Scale high={answer.high} theme={theme} />}
      </p>
    </div>
  );
}

function Scale({ high, theme }: { high: number; theme: string }) {
  return (
    <span class="ranks-scale">
      in line
      {[0, 0.2, 0.4, 0.6, 0.8, 1].map((share) => (
        <i key={share} style={{ background: css(scale_colour(theme, 'peers', share)) }} aria-hidden="true" />
      ))}
      {high} or more median absolute deviations behind
    </span>
  );
}

function Row({ row, answer, lit }: { row: RankRow; answer: RanksAnswer; lit: boolean }) {
  return (
    <tr class={lit ? 'lit' : ''} data-rank={row.rank} data-stands-out={row.stands_out}>
      <td>{integer(row.rank)}</td>
      <td class="left">
        <ViewLink change={{ node: row.node }} title="Show it on the map of racks">{place(row.node, row.gpu_slot)}</ViewLink>
      </td>
      <td class={row.stands_out ? 'warn' : ''}>
        {row.behind === null ? '–' : row.behind.toFixed(1)}{row.stands_out ? ' ▲' : ''}
      </td>
      {columns_known(answer).map((c) => {
        const { own, off } = reading_text(row[c.key] as number | null, answer.usual[c.key]?.median, c.digits);
        return <td key={c.key}>{own} <span class="muted">{off}</span></td>;
      })}
      <td class="left why">{row.why}</td>
    </tr>
  );
}

function Table({ answer, filter, node }: { answer: RanksAnswer; filter: string; node: string }) {
  const found = filter_ranks(answer.rows, filter);
  const rows = filter.trim() ? found : found.slice(0, kRowsMax);
  if (rows.length === 0) {
    return <Empty>No rank like that among the {integer(answer.rows.length)} that are furthest behind.</Empty>;
  }
  return (
    <div class="ranks-scroll" tabIndex={0} role="region" aria-label="Ranks, the furthest behind first">
      <table class="ranks-table">
        <thead>
          <tr>
            <th>rank</th><th class="left">GPU</th><th title="In median absolute deviations of the gang">behind</th>
            {columns_known(answer).map((c) => <th key={c.key}>{c.label}{c.unit ? `, ${c.unit}` : ''}</th>)}
            <th class="left">because</th>
          </tr>
        </thead>
        <tbody>{rows.map((r) => <Row key={r.rank} row={r} answer={answer} lit={r.node === node} />)}</tbody>
      </table>
    </div>
  );
}

interface Props {
  id: string;
  moment: string;
  asked: Asked<RanksAnswer>;
  theme: string;
  filter: string;
  node: string;
  live: Live;
}

export function JobRanksPanel({ id, moment, asked, theme, filter, node, live }: Props) {
  const { answer, trouble } = asked;
  const known = answer !== null && answer.read > 0;
  const missing = answer ? columns_missing(answer).map((c) => c.label) : [];
  return (
    <Panel name="job-ranks" title="Ranks against their gang" cli={`muster diagnose job ${shell_word(id)} -o json`} aside={
      <input class="filter rank-filter" type="text" value={filter} placeholder="rank, node or reason" aria-label="Find a rank"
        autocomplete="off" spellcheck={false}
        onInput={(event) => live.go({ q: (event.currentTarget as HTMLInputElement).value })} />
    }>
      <TroubleBox trouble={trouble ?? undefined} />
      {!answer && !trouble && <Empty>Reading its GPUs…</Empty>}
      {answer && answer.ranks === 0 && <Empty>It has no GPUs now.</Empty>}
      {answer && answer.ranks > 0 && !known && (
        <Empty>
          {moment ? 'Readings of GPUs are in no record: of the past there are none.' : 'Its GPUs have not been read yet.'}
        </Empty>
      )}
      {answer && known && (
        <>
          <StripView answer={answer} theme={theme} node={node} live={live} />
          <Table answer={answer} filter={filter} node={node} />
          <p class="job-meaning">
            Measured on {integer(answer.read)} of {count(answer.ranks, 'rank')} ({percent(answer.read / answer.ranks)}).{' '}
            {answer.judged} {answer.unjudged}{missing.length > 0 && <> Not read here: {missing.join(', ')}.</>}
          </p>
        </>
      )}
    </Panel>
  );
}
