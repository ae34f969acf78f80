// The slider moves a mark along a curve that was fetched once; both scales are logarithmic, as on the server.
export function points() {
  const chart = document.getElementById("curve");
  return chart ? JSON.parse(chart.dataset.points) : [];
}

export function numberSaid(text) { // "0.1", or "1/3"
  const [above, below] = text.split("/").map(Number);
  return below === undefined ? above : above / below;
}

export function spendAt(share, curve) {
  const low = curve[0][0], high = curve[curve.length - 1][0];
  return Number((low * (high / low) ** share).toPrecision(3));
}

export function shareOf(spend, curve) {
  const low = curve[0][0], high = curve[curve.length - 1][0];
  return Math.min(1, Math.max(0, Math.log(spend / low) / Math.log(high / low)));
}

export function marginAt(spend, curve) {
  if (spend <= curve[0][0]) return curve[0][1];
  for (let i = 1; i < curve.length; i++) {
    if (spend <= curve[i][0]) {
      const t = Math.log(spend / curve[i - 1][0]) / Math.log(curve[i][0] / curve[i - 1][0]);
      return curve[i - 1][1] ** (1 - t) * curve[i][1] ** t;
    }
  }
  return curve[curve.length - 1][1];
}

export function move(spend) {
  const curve = points(), mark = document.getElementById("curve-mark");
  if (!curve.length || !mark) return;
  const outside = spend < curve[0][0] || spend > curve[curve.length - 1][0];
  mark.toggleAttribute("hidden", outside); // a spend that is not on the curve has no place there
  if (outside) return;
  const margins = curve.map((each) => each[1]);
  const low = Math.min(...margins) / 1.15, high = Math.max(...margins) * 1.15;
  const margin = marginAt(spend, curve);
  const x = `${100 * shareOf(spend, curve)}%`;
  const y = `${100 * (1 - Math.log(margin / low) / Math.log(high / low))}%`;
  const [down, across, dot] = mark.children;
  for (const [line, places] of [[down, { x1: x, x2: x, y1: y }], [across, { x2: x, y1: y, y2: y }], [dot, { cx: x, cy: y }]]) {
    for (const [name, value] of Object.entries(places)) line.setAttribute(name, value);
  }
  return margin;
}
