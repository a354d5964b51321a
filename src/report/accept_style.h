// What the pages about acceptance add to the style sheet of every page (page_style.h). A verdict has a word and a mark beside its
// colour, curves have names.
#pragma once
#include <string_view>

namespace muster::report {

constexpr std::string_view kAcceptStyle = R"css(
:root {
  --pass: #00714f; --degraded: #8a5a00; --could_not_run: #5d4a91; --fail: #b00020;
  --power: #0072b2; --clock: #7a5195; --heat: #d55e00; --heat2: #8a5a00; --band: #16202c; --mid: #0072b2; --off: #b00020;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --pass: #3fc79e; --degraded: #f2b134; --could_not_run: #b9a4e6; --fail: #ff8a8a;
    --power: #3d98db; --clock: #a67fc6; --heat: #ee7628; --heat2: #f2b134; --band: #e4eaf1; --mid: #3d98db; --off: #ff8a8a;
  }
}
main { max-width: 1760px; }
header { border-left: 8px solid var(--verdict, var(--line)); }
p, dd, li { overflow-wrap: anywhere; }
td { overflow-wrap: break-word; }
h1 { max-width: 60ch; font-size: 22px; text-wrap: pretty; }
.v { font-weight: 650; white-space: nowrap; }
.v.pass { color: var(--pass); } .v.degraded { color: var(--degraded); } .v.could_not_run { color: var(--could_not_run); }
.v.fail { color: var(--fail); }
.big { font-size: 40px; line-height: 1.15; letter-spacing: -.01em; display: block; white-space: normal; }
.facts dd { font-size: 15px; overflow-wrap: anywhere; }
.facts div { max-width: 100%; }
.trouble { border-top: 1px solid var(--line); border-left: 5px solid var(--verdict); padding: 12px 0 12px 16px; margin: 0 0 6px; }
.trouble h3 { font-size: 16px; }
.trouble dl { display: grid; grid-template-columns: 90px 1fr; gap: 4px 12px; margin: 0; font-size: 14px; max-width: 120ch; }
.trouble dt { color: var(--text-2); } .trouble dd { margin: 0; }
table.wide { width: auto; min-width: 100%; }
td { vertical-align: top; white-space: normal; }
td.n, td.id { white-space: nowrap; }
.lead.id { min-width: 0; }
td small, th small { display: block; white-space: nowrap; font-variant-numeric: tabular-nums; }
td small { font-size: 11.5px; line-height: 1.35; }
td.test small { white-space: normal; min-width: 150px; font-size: 13px; }
@media (min-width: 1100px) { td.test { white-space: nowrap; } td.test small { display: inline; margin-left: 10px; } }
td.words { min-width: 190px; max-width: 60ch; overflow-wrap: anywhere; }
thead th.n { white-space: normal; }
td.who { min-width: 140px; }
table.fits { width: auto; }
table.fits td, table.fits th { padding-right: 28px; }
tr.group th { color: var(--text); font-weight: 600; padding-top: 14px; white-space: normal; }
.short { color: var(--fail); font-weight: 650; }
td.lead { min-width: 130px; }
.lead { position: sticky; left: 0; background: var(--panel); z-index: 1; }
/* What is wider than the screen casts a shadow at the side where it goes on: covers that scroll along hide it at the end. */
.scroll { --edge: color-mix(in srgb, var(--text) 45%, transparent); background:
  linear-gradient(to left, var(--panel) 40%, transparent) 100% 0 / 34px 100% no-repeat local,
  linear-gradient(to left, var(--edge), transparent) 100% 0 / 11px 100% no-repeat scroll; }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.strips { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 500px), 1fr)); gap: 14px 26px; }
.strips.one { grid-template-columns: 1fr; }
figure { margin: 0; }
.strip figcaption { font-size: 14px; color: var(--text); font-weight: 600; }
svg.drawing { display: block; width: 100%; height: auto; }
svg.drawing text { font: 12px system-ui, "Segoe UI", Roboto, sans-serif; fill: var(--text); }
svg.drawing text.dim, svg.drawing text.mark { fill: var(--text-2); }
svg.drawing text.mark { font-size: 11px; }
svg.narrow { display: none; }
.gridline { stroke: var(--line); fill: none; } .tick { stroke: var(--text-2); }
.limit { stroke: var(--text-2); stroke-dasharray: 5 4; fill: none; }
.band0 { fill: var(--band); fill-opacity: .10; } .band1 { fill: var(--band); fill-opacity: .035; }
.band0.bad, .band1.bad { fill: var(--fail); fill-opacity: .22; }
.line { fill: none; stroke-width: 1.3; stroke-linejoin: round; } .span { fill-opacity: .25; stroke: none; }
.power.line { stroke: var(--power); } .power.span { fill: var(--power); }
.clock.line { stroke: var(--clock); } .clock.span { fill: var(--clock); }
.heat.line { stroke: var(--heat); stroke-width: 1.8; }
.heat2.line { stroke: var(--heat2); stroke-width: 1.8; stroke-dasharray: 4 3; }
details { margin: 0 0 8px; }
summary { cursor: pointer; padding: 4px 0; }
summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
pre.raw { max-height: 420px; overflow: auto; background: var(--panel-2); border-radius: 5px; padding: 10px 13px;
  user-select: all;
  font-size: 12px; margin: 6px 0 10px; }
pre.said { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font-size: 13px; }
.share { display: flex; height: 14px; border-radius: 4px; overflow: hidden; margin: 12px 0 4px; max-width: 900px; }
.share i { display: block; min-width: 3px; }
.share i + i { border-left: 2px solid var(--panel); }
.share .pass { background: var(--pass); } .share .degraded { background: var(--degraded); }
.share .could_not_run { background: var(--could_not_run); } .share .fail { background: var(--fail); }
.counts { display: flex; flex-wrap: wrap; gap: 4px 30px; margin: 0; }
.counts b { font-size: 28px; font-weight: 650; font-variant-numeric: tabular-nums; margin-right: 8px; }
.spread { display: grid; grid-template-columns: 250px minmax(200px, 760px) minmax(180px, 1fr); gap: 4px 22px; align-items: center;
  border-top: 1px solid var(--line); padding: 7px 0; }
.spread p { margin: 0; font-size: 13px; } .spread small { display: block; }
.spread .names { overflow-wrap: anywhere; }
.bar { fill: var(--mid); fill-opacity: .65; } .bar.off, .dot.off { fill: var(--off); fill-opacity: 1; }
.dot { fill: var(--mid); fill-opacity: .8; }
.median { stroke: var(--text); stroke-width: 1.6; fill: none; }
.cut { stroke: var(--off); stroke-width: 1.6; stroke-dasharray: 4 3; fill: none; }
table.all { font-size: 12px; font-variant-numeric: tabular-nums; width: auto; }
table.all th { font-size: 11px; padding: 2px 5px 3px 0; vertical-align: bottom; }
table.all th.tall { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; padding: 4px 0; max-height: 190px; }
table.all td { padding: 1px 7px 1px 0; white-space: nowrap; }
table.all td.v { font-weight: 400; }
table.all td.v.fail, table.all td.v.degraded, table.all td.v.could_not_run { font-weight: 650; }
table.all td:nth-child(n+5) { text-align: right; }
table.all u { text-decoration: none; font-weight: 700; color: var(--off); }
.whisker { stroke: var(--mid); stroke-width: 2; fill: none; } .whisker.open { stroke: var(--text-2); }
.point { fill: var(--mid); stroke: none; } .point.open { fill: var(--panel); stroke: var(--text-2); stroke-width: 2; }
.one_line { stroke: var(--text); stroke-width: 1.4; fill: none; }
@media (max-width: 900px) {
  .spread { grid-template-columns: 1fr; }
  .big { font-size: 32px; }
  h1 { font-size: 19px; }
  .trouble dl { grid-template-columns: 1fr; gap: 0; } .trouble dd { margin: 0 0 6px; }
}
@media screen and (max-width: 700px) {
  svg.wide { display: none; }
  svg.narrow { display: block; }
  .lead { max-width: 42vw; }
  /* What would need much scrolling is read line by line. */
  .cards thead { display: none; }
  .cards tr { display: block; border-bottom: 1px solid var(--line); padding: 8px 0; }
  .cards td { display: inline; border: 0; padding: 0 8px 0 0; }
  .cards td.words { display: block; max-width: none; padding: 0; }
  .cards td.words::before { content: attr(data-l); color: var(--text-2); }
}
@media print {
  @page { size: A4 landscape; margin: 10mm; }
  body { font-size: 9pt; background: none; }
  main { max-width: none; padding: 0; }
  section, header { border: 0; border-radius: 0; padding: 0 0 3mm; margin: 0 0 3mm; }
  header { border-left: 4px solid var(--verdict); padding-left: 4mm; }
  h2 { break-after: avoid; }
  table, .note, pre.said { font-size: 7pt; } th, td small { font-size: 6.5pt; white-space: normal; }
  td { padding: 1.5pt 6pt 1.5pt 0; }
  .lead { position: static; }
  tr, figure, svg, .trouble, .spread { break-inside: avoid; }
  .strips { grid-template-columns: 1fr 1fr; }
  thead { display: table-header-group; }
  .scroll { overflow: visible; }
  details:not([open]) { display: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace muster::report
