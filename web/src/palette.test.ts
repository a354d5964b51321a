// The page's colours, as the style sheets and the modules have them, to eyes that lack a kind of cone: what stands for different
// things on one picture differs, or has a sign of its own.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ink_on, job_colour, kSteps, luminance, parse_rgb, scale_colour, type Rgb } from './atlas.js';
import { ciede2000, kEyes, lab_of, least_difference } from './colour_vision.js';
import { kShades } from './timeline.js';
import { kDown } from './waterfall.js';
import { kGpuStates, kWaste } from './words.js';

// CIEDE2000, to the eye to which two colours are most alike.
const kTrouble = 10; // trouble against what is well
const kOther = 6; // of one kind, and what lies on a ground against it
const kText = 4.5; // contrast of letters

const kThemes = ['light', 'dark'] as const;
type Theme = (typeof kThemes)[number];
const kSheets = ['src/app.css', ...readdirSync('src/ui').filter((name) => name.endsWith('.css')).map((name) => `src/ui/${name}`)];

// The colours in :root of all style sheets.
function read_colours(): Record<Theme, Map<string, Rgb>> {
  const own = { light: new Map<string, Rgb>(), dark: new Map<string, Rgb>() };
  for (const sheet of kSheets) {
    for (const [, dark, rules] of readFileSync(sheet, 'utf8').matchAll(/:root(\[data-theme='dark'\])?\s*\{([^}]*)\}/g)) {
      for (const [, name, hex] of rules!.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})\b/gi)) {
        own[dark ? 'dark' : 'light'].set(name!, parse_rgb(hex!));
      }
    }
  }
  return own;
}
const kColours = read_colours();
const colour = (theme: Theme, name: string): Rgb =>
  kColours[theme].get(name) ?? assert.fail(`no style sheet has a colour --${name} in the ${theme} theme`);

function contrast(one: Rgb, two: Rgb): number {
  const [a, b] = [luminance(one), luminance(two)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function differ(one: Rgb, two: Rgb, least: number, what: string): void {
  const { difference, eye } = least_difference(one, two);
  assert.ok(difference >= least, `${what}: ${difference.toFixed(1)} to the eye of ${eye}, of at least ${least}`);
}

// One picture: every pair on it. `trouble` against the rest by more than those of one kind.
function check_picture(theme: Theme, well: readonly string[], trouble: readonly string[], ground: readonly string[]): void {
  const all = [...well, ...trouble];
  all.forEach((name, i) => {
    for (const other of all.slice(0, i)) {
      const least = trouble.includes(name) !== trouble.includes(other) ? kTrouble : kOther;
      differ(colour(theme, name), colour(theme, other), least, `${theme}: ${name} and ${other}`);
    }
    for (const under of ground) differ(colour(theme, name), colour(theme, under), kOther, `${theme}: ${name} on ${under}`);
  });
}

test('the difference of colours is that of the published pairs', () => {
  const pairs = [ // Sharma, Wu, Dalal 2005, table 1: lines 1, 7, 9, 17, 20, 25, 34
    [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
    [[50, 0, 0], [50, -1, 2], 2.3669],
    [[50, 2.49, -0.001], [50, -2.49, 0.0009], 7.1792],
    [[50, 2.5, 0], [73, 25, -18], 27.1492],
    [[50, 2.5, 0], [58, 24, 15], 19.4535],
    [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644],
    [[2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082],
  ] as const;
  const lab = ([l, a, b]: readonly [number, number, number]) => ({ l, a, b });
  for (const [one, two, published] of pairs) {
    assert.ok(Math.abs(ciede2000(lab(one), lab(two)) - published) < 5e-5, `${one} ${two}`);
    assert.ok(Math.abs(ciede2000(lab(two), lab(one)) - published) < 5e-5, `${two} ${one}`);
  }
});

test('red and green are alike to the eyes that lack a cone for them, blue and yellow are not; greys stay grey', () => {
  const [red, green]: Rgb[] = [[190, 70, 40], [110, 110, 20]];
  const apart = (eye: (typeof kEyes)[number]) => ciede2000(lab_of(red!, eye), lab_of(green!, eye));
  assert.ok(apart('usual') > 30 && apart('deuteranopia') < 0.6 * apart('usual'), `${apart('usual')} ${apart('deuteranopia')}`);
  differ([0, 90, 180], [240, 200, 60], 30, 'blue and yellow');
  for (const eye of kEyes) {
    const { a, b } = lab_of([128, 128, 128], eye);
    assert.ok(Math.hypot(a, b) < 1, `${eye}: ${a} ${b}`);
  }
});

test('both themes have every colour of their own, and no module of the page has one beside them', () => {
  const names = (theme: Theme) => [...kColours[theme].keys()].sort();
  assert.deepEqual(names('light'), names('dark'));
  for (const file of readdirSync('src/ui').filter((name) => name.endsWith('.tsx'))) {
    const found = readFileSync(`src/ui/${file}`, 'utf8').match(/['"`]#(?!0{6}['"`]|f{6}['"`])[0-9a-f]{3,8}['"`]/i)?.[0];
    assert.equal(found, undefined, `${file} has the colour ${found} of its own: name it in a style sheet, for both themes`);
  }
});

test('states of GPUs differ by colour alone: from afar the map has no room for their signs', () => {
  const well = ['busy', 'idle'];
  const trouble = kGpuStates.map((s) => s.name).filter((name) => !well.includes(name));
  const named = (names: string[]) => names.map((name) => `gpu-${name}`);
  for (const theme of kThemes) {
    check_picture(theme, named(well), named(trouble), ['shelf', 'panel']);
    // What frames a node with an incident lies around its cells.
    for (const name of named(well)) differ(colour(theme, 'alarm'), colour(theme, name), kTrouble, `${theme}: alarm and ${name}`);
    differ(colour(theme, 'alarm'), colour(theme, 'panel'), kTrouble, `${theme}: alarm on the panel`);
  }
});

test('classes of GPU-hours differ by colour alone: in a thin bar their patterns are lost', () => {
  const waste = kWaste.map((w) => w.name);
  assert.deepEqual([...waste].sort(), ['useful', ...kDown].sort());
  const trouble = ['slow', 'lost_restart', 'drained', 'down'];
  const named = (names: string[]) => names.map((name) => `w-${name}`);
  for (const theme of kThemes) {
    check_picture(theme, named(waste.filter((name) => !trouble.includes(name))), named(trouble), ['panel-2', 'panel']);
  }
});

test('the scale of values differs from quarter to quarter, its ends more so, and in lightness alone', () => {
  for (const theme of kThemes) {
    const at = [0, 0.25, 0.5, 0.75, 1].map((share) => scale_colour(theme, 'temp', share));
    for (let i = 1; i < at.length; ++i) differ(at[i]!, at[i - 1]!, kOther, `${theme}: quarter ${i}`);
    for (let i = 2; i < at.length; ++i) differ(at[i]!, at[i - 2]!, kTrouble, `${theme}: half ${i}`);
    differ(at[0]!, at[4]!, 3 * kTrouble, `${theme}: the ends`);
    for (const eye of kEyes) {
      const light = at.map((rgb) => lab_of(rgb, eye).l);
      const way = theme === 'dark' ? 1 : -1;
      light.slice(1).forEach((l, i) => assert.ok((l - light[i]!) * way > 0, `${theme} ${eye}: lightness at ${i + 1}`));
    }
  }
});

// As src/api/map_values.cpp gives them.
const step_of_job = (id: number): number => Math.imul(id, 2654435769) >>> 26;

test('jobs that came one after the other, or one apart, have colours that differ', () => {
  for (const theme of kThemes) {
    for (let id = 1; id <= 1000; ++id) {
      for (const later of [1, 2]) {
        const [one, two] = [step_of_job(id), step_of_job(id + later)];
        differ(job_colour(theme, one), job_colour(theme, two), kOther, `${theme}: jobs ${id} and ${id + later}`);
      }
    }
  }
});

test('on the timeline work, bad ends, what is out of service and the ground differ; jobs of different shades do too', () => {
  const shades = Array.from({ length: kShades }, (_, i) => `job-${i}`);
  for (const theme of kThemes) {
    check_picture(theme, shades, ['alarm', 'gpu-down'], ['lane', 'lane-2']);
    // Many nodes to a line: shares of work and of what was down.
    differ(colour(theme, 'gpu-busy'), colour(theme, 'gpu-down'), kTrouble, `${theme}: busy and down`);
    // Orders are triangles whatever came of them.
    differ(colour(theme, 'text'), colour(theme, 'alarm'), kTrouble, `${theme}: orders done and not`);
  }
});

// The parts of one bar of the plan page: [class, variable], as its style sheet fills them.
function parts_of_bars(): Map<string, [string, string][]> {
  const bars = new Map<string, [string, string][]>();
  for (const [, bar, part, name] of readFileSync('src/ui/plan_page.css', 'utf8')
    .matchAll(/^\.plan-(step|memory)-(\w+) \{ fill: var\(--([\w-]+)\); \}/gm)) {
    bars.set(bar!, [...(bars.get(bar!) ?? []), [part!, name!]]);
  }
  return bars;
}

test('the parts of a step and of memory differ in the bars of a plan', () => {
  const bars = parts_of_bars();
  assert.deepEqual([...bars.keys()].sort(), ['memory', 'step']);
  for (const [theme, bar] of kThemes.flatMap((theme) => [...bars.keys()].map((bar) => [theme, bar] as const))) {
    const parts = bars.get(bar)!;
    assert.ok(parts.length >= 4, bar);
    parts.forEach(([part, name], i) => {
      for (const [other, its] of parts.slice(0, i)) {
        differ(colour(theme, name), colour(theme, its), kOther, `${theme}: ${bar} ${part} and ${other}`);
      }
    });
  }
});

test('good news and bad differ, beside their words', () => {
  for (const theme of kThemes) {
    differ(colour(theme, 'accent'), colour(theme, 'alarm'), kTrouble, `${theme}: accent and alarm`);
    differ(colour(theme, 'good'), colour(theme, 'alarm'), kTrouble, `${theme}: good and alarm`);
  }
});

test('letters can be read on every ground they stand on', () => {
  const grounds: [string, string[]][] = [
    ['text', ['bg', 'panel', 'panel-2', 'accent-bg', 'alarm-bg']],
    ['text-2', ['bg', 'panel', 'panel-2', 'accent-bg', 'alarm-bg']],
    ['text-3', ['bg', 'panel', 'panel-2']],
    ['accent', ['bg', 'panel', 'panel-2', 'accent-bg']],
    ['alarm', ['bg', 'panel', 'panel-2', 'alarm-bg']],
    ['panel', ['accent']], // of the strong button
    ['job-ink', Array.from({ length: kShades }, (_, i) => `job-${i}`)],
  ];
  for (const theme of kThemes) {
    for (const [ink, under] of grounds) {
      for (const ground of under) {
        const found = contrast(colour(theme, ink), colour(theme, ground));
        assert.ok(found >= kText, `${theme}: ${ink} on ${ground} has a contrast of ${found.toFixed(2)}, of at least ${kText}`);
      }
    }
  }
});

// Rules of the style sheets that say both what lies under letters and what these have for a colour.
function inks_on_grounds(theme: Theme): [string, Rgb, Rgb][] {
  const found: [string, Rgb, Rgb][] = [];
  const value = (text: string | undefined): Rgb | null => {
    const name = /^var\(--([\w-]+)(?:, var\(--[\w-]+\))?\)$/.exec(text ?? '')?.[1];
    if (name) return kColours[theme].get(name) ?? null;
    return /^#[0-9a-f]{6}$/i.test(text ?? '') ? parse_rgb(text!) : null;
  };
  for (const sheet of kSheets) {
    for (const [, selector, rules] of readFileSync(sheet, 'utf8').matchAll(/([^{}]+)\{([^{}]*)\}/g)) {
      const ink = value(/(?:^|[;\s])color:\s*([^;]+)/.exec(rules!)?.[1]?.trim());
      const ground = value(/(?:^|[;\s])background(?:-color)?:\s*([^;]+)/.exec(rules!)?.[1]?.trim());
      if (ink && ground) found.push([selector!.trim(), ink, ground]);
    }
  }
  return found;
}

test('where a rule has letters on a ground of its own they can be read', () => {
  for (const theme of kThemes) {
    const all = inks_on_grounds(theme);
    assert.ok(all.length > 5, `${all.length}`);
    for (const [selector, ink, ground] of all) {
      const found = contrast(ink, ground);
      assert.ok(found >= kText, `${theme}: ${selector} has a contrast of ${found.toFixed(2)}, of at least ${kText}`);
    }
  }
});

test('letters in the cells of the map can be read on every colour they have', () => {
  for (const theme of kThemes) {
    const cells = kGpuStates.map((s) => colour(theme, `gpu-${s.name}`));
    for (let step = 0; step < kSteps.length; ++step) {
      cells.push(job_colour(theme, step), scale_colour(theme, 'temp', step / (kSteps.length - 1)));
    }
    for (const rgb of cells) assert.ok(contrast(rgb, parse_rgb(ink_on(rgb))) >= kText, `${theme}: ${rgb.join()}`);
  }
});
