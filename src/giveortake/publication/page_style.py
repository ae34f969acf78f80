"""How a report looks: the console's colours and type, on a page that may be printed."""

STYLE = """
:root { color-scheme: light dark;
  --ground: #fbfaf8; --ink: #1d2326; --soft: #5d686d; --line: #dfdcd5; --accent: #0b5f63;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #14181a; --ink: #e8ebec; --soft: #9aa6ab; --line: #313a3e; --accent: #6cc4c4; } }
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 var(--sans);
  font-variant-numeric: tabular-nums; }
main { max-width: 760px; margin: 0 auto; padding: 40px 20px 60px; }
.over { color: var(--accent); font-weight: 600; margin: 0; }
h1 { font-size: 28px; letter-spacing: -.015em; margin: 2px 0 16px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 34px 0 8px; }
h3 { font-size: 15px; margin: 20px 0 4px; }
p { margin: 0 0 10px; overflow-wrap: anywhere; }
.note, footer { color: var(--soft); font-size: 14px; }
footer { border-top: 1px solid var(--line); margin-top: 40px; padding-top: 10px; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; margin: 0; font-size: 14px; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; }
pre { font: 14px/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--accent);
  margin: 0; padding: 2px 0 2px 14px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 6px 0 12px; }
th { text-align: left; font-size: 13px; color: var(--soft); font-weight: 600; vertical-align: bottom;
  border-bottom: 1px solid var(--line); padding: 5px 8px 5px 0; overflow-wrap: break-word; }
td { border-bottom: 1px solid var(--line); padding: 6px 8px 6px 0; overflow-wrap: break-word; }
td.n, th.n { text-align: right; } td.n { white-space: nowrap; } td.n small { color: var(--soft); }
th.bars { width: 23%; min-width: 90px; font-weight: 400; padding-left: 14px; }
td.bars { padding-left: 14px; }
th.bars span + span { float: right; }
.cite { border-left: 3px solid var(--line); padding-left: 14px; }
svg.chart, svg.interval { display: block; }
svg text { fill: var(--soft); font: 12px var(--sans); font-variant-numeric: tabular-nums; }
svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
svg .base, svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); }
svg .range, svg .band { fill: var(--accent); fill-opacity: .32; }
svg path.range { fill: none; stroke: var(--accent); stroke-opacity: .32; }
svg .value { stroke: var(--accent); stroke-width: 2.5; fill: none; } svg .arrow { fill: var(--accent); }
svg .line { fill: none; stroke: var(--accent); stroke-width: 2.5; } svg .thin { stroke-width: 1.5; }
svg .area { fill: var(--accent); fill-opacity: .14; stroke: none; } svg .dot { fill: var(--accent); }
@media (max-width: 560px) { th.bars { min-width: 70px; width: 28%; } td.n { white-space: normal; } }
@media print {
  :root { --ground: #fff; --ink: #000; --soft: #444; --line: #bbb; --accent: #0b5f63; }
  main { max-width: none; padding: 0; } section, tr, svg { break-inside: avoid; } h2 { break-after: avoid; }
  body { font-size: 11pt; }
}
"""
