import { count, integer, shell_word } from '../format.js';
import type { RanksAnswer } from '../job_ranks.js';
import type { Asked } from './ask.js';
import { Empty, Panel } from './bits.js';
import { ViewLink } from './job_link.js';

const kLeavesShown = 40;

// Where its nodes lie in the network, and the proof that they could not have lain closer together.
export function JobPlacePanel({ id, asked }: { id: string; asked: Asked<RanksAnswer> }) {
  const placement = asked.answer?.placement;
  const largest = Math.max(1, ...(placement?.by_leaf ?? []).map((l) => l.count));
  return (
    <Panel name="job-place" title="Placement" cli={`muster explain job ${shell_word(id)}`} aside={
      <ViewLink page="fabric" class="link" change={{ job: id }}>its links in the fabric</ViewLink>
    }>
      {!placement && <Empty>Reading where its nodes are…</Empty>}
      {placement && placement.nodes === 0 && <Empty>It has no nodes now.</Empty>}
      {placement && placement.nodes > 0 && (
        <>
          <p class="line">
            <span class="pair"><b data-leaves={placement.leaves}>{integer(placement.leaves)}</b>
              {placement.leaves === 1 ? ' leaf' : ' leaves'}</span>
            <span class="pair"><b>{integer(placement.pods)}</b>{placement.pods === 1 ? ' pod' : ' pods'}</span>
            <span class="pair"><b>{integer(placement.domains)}</b> NVLink {placement.domains === 1 ? 'domain' : 'domains'}</span>
            <span class="pair"><b>{integer(placement.racks)}</b>{placement.racks === 1 ? ' rack' : ' racks'}</span>
          </p>
          <ul class="certificate">{placement.words.map((w, i) => <li key={i}>{w}</li>)}</ul>
          {placement.why && <p class="muted">{placement.why}</p>}
          <ul class="leaves">
            {placement.by_leaf.slice(0, kLeavesShown).map((l) => (
              <li key={l.leaf} title={l.nodes}>
                <ViewLink page="fabric" change={{ job: id, leaf: `leaf ${l.leaf}` }}>leaf {l.leaf}</ViewLink>
                <span class="leaf-bar"><i style={{ width: `${(l.count / largest) * 100}%` }} /></span>
                <span>{count(l.count, 'node')}</span>
              </li>
            ))}
          </ul>
          {placement.by_leaf.length > kLeavesShown && (
            <Empty>{count(placement.by_leaf.length - kLeavesShown, 'more leaf', 'more leaves')}.</Empty>
          )}
        </>
      )}
    </Panel>
  );
}
