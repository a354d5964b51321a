import { clock, count, integer, shell_word } from '../format.js';
import { lines_of, story_of, type Line, type Story, type StoryAnswer } from '../job_story.js';
import { utc_or_none } from '../route.js';
import { cause_words, plain, status_words, verb_words } from '../words.js';
import { use_tool } from './ask.js';
import { Empty, Panel, TroubleBox } from './bits.js';
import { ViewLink } from './job_link.js';
import { To } from './nav.js';

const kEveryMs = 10_000;
const kLinesMax = 200;
const at = (x: number) => ({ left: `${x * 100}%` });
const wide = (x: number, width: number) => ({ left: `${x * 100}%`, width: `${width * 100}%` });

function Strip({ answer, story }: { answer: StoryAnswer; story: Story }) {
  return (
    <div class="story" role="group" aria-label={`The life of job ${answer.job} from ${clock(answer.from_utc)} on`}>
      <div class="story-track">
        {story.stretches.map((s, i) => (
          <span key={i} class={`story-stretch story-${s.phase}${s.bad ? ' bad' : ''}`} style={wide(s.x, s.width)} title={s.text}
            data-phase={s.phase} data-attempt={s.attempt}>
            {s.label}
          </span>
        ))}
        {story.checkpoints.map((x, i) => <i key={i} class="story-checkpoint" style={at(x)} aria-hidden="true" />)}
      </div>
      <div class="story-marks">
        {story.incidents.map((i) => (
          <span key={i.id} class="story-incident" style={wide(i.x, i.width)} data-incident={i.id}>
            <ViewLink page="incidents" id={String(i.id)} change={{}} label={`Incident ${i.id}`}
              title={`incident ${i.id}: ${cause_words(answer.incidents.find((x) => x.id === i.id)?.cause ?? '')}`}>◆</ViewLink>
          </span>
        ))}
        {story.actions.map((a, i) => (
          <i key={`a${i}`} class="story-action" style={at(a.x)} title={verb_words(a.verb)} aria-hidden="true" />
        ))}
      </div>
      <div class="story-axis" aria-hidden="true">
        <span class="first" style={at(0)}>{clock(answer.from_utc)}</span>
        {story.ticks.filter((t) => t.x > 0.25 && t.x < 0.93).map((t) => <span key={t.text} style={at(t.x)}>{t.text}</span>)}
      </div>
    </div>
  );
}

function Legend({ answer }: { answer: StoryAnswer }) {
  return (
    <p class="line story-legend">
      {['queued', 'starting', 'running', 'broken'].map((phase) => (
        <span key={phase} class="pair"><i class={`story-key story-${phase}`} aria-hidden="true" />{plain(phase)}</span>
      ))}
      <span class="pair"><i class="story-key story-tick" aria-hidden="true" />
        checkpoint (<b>{integer(answer.checkpoints_in_all)}</b>)</span>
      <span class="pair"><span class="warn" aria-hidden="true">◆</span> incident on its nodes
        (<b>{integer(answer.incidents.length)}</b>)</span>
      <span class="pair"><i class="story-key story-deed" aria-hidden="true" />
        action (<b>{integer(answer.actions.length)}</b>)</span>
    </p>
  );
}

function LineRow({ line }: { line: Line }) {
  const moment = utc_or_none(line.at_utc.slice(0, 19));
  return (
    <li class={line.bad ? 'bad' : ''} data-line={line.kind}>
      <ViewLink change={{ at: moment }} title="This page as it was then">{clock(line.at_utc)}</ViewLink>{' '}
      {line.incident > 0 ? <To page="incidents" id={String(line.incident)}>{line.what}</To> : <b>{line.what}</b>}
      {line.detail && <span class="muted"> {line.detail}</span>}
    </li>
  );
}

// From its submission to its end: what it waited for, ran on, lost and why.
export function JobStoryPanel({ id, moment }: { id: string; moment: string }) {
  const input = { job: id, ...(moment && { to: moment }) };
  const { answer, trouble } = use_tool<StoryAnswer>('timeline', input, moment ? 0 : kEveryMs);
  const story = answer && story_of(answer);
  const lines = answer ? lines_of(answer, { cause: cause_words, verb: verb_words, status: status_words }) : [];
  const left_out = Object.values(answer?.left_out ?? {}).reduce((sum, n) => sum + n, 0);
  return (
    <Panel name="job-story" title="Its life" cli={`muster explain job ${shell_word(id)}`} aside={answer && (
      <ViewLink page="timeline" class="link" change={{ from: utc_or_none(answer.from_utc.slice(0, 19)),
        to: utc_or_none(answer.to_utc.slice(0, 19)) }}>all nodes in this time</ViewLink>
    )}>
      <TroubleBox trouble={trouble ?? undefined} />
      {!answer && !trouble && <Empty>Reading the record…</Empty>}
      {answer && story && <><Strip answer={answer} story={story} /><Legend answer={answer} /></>}
      {answer && (
        <ol class="story-lines" tabIndex={0} aria-label="What happened, the newest first">
          {lines.slice(0, kLinesMax).map((line, i) => <LineRow key={i} line={line} />)}
        </ol>
      )}
      {lines.length > kLinesMax && <Empty>{count(lines.length - kLinesMax, 'earlier line')}.</Empty>}
      {left_out > 0 && <Empty>{count(left_out, 'older entry', 'older entries')} of it are in the journal only.</Empty>}
    </Panel>
  );
}
