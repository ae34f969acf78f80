// SQL in colour: a copy of the text behind a textarea whose own letters are transparent. No style is injected.
const WORDS = new Set(`all and as asc avg between bool_and bool_or by case cast ceil clamp coalesce count cross cube
date date_trunc desc distinct else end exists extract false floor from full group grouping having if in inner interval
is join least greatest left like limit ln max median min mod not null nullif offset on or order over partition
percentile_cont quantile right rollup round select sets sqrt stddev sum then true union using variance when where with
within`.split(/\s+/));
const TOKEN = /(--[^\n]*|\/\*[^]*?(?:\*\/|$))|('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|([A-Za-z_][A-Za-z_0-9]*)|([^]+?(?=--|\/\*|['"A-Za-z_]|$))/g;

export function highlight(text, into) {
  const parts = [];
  for (const [whole, comment, string, , word] of text.matchAll(TOKEN)) {
    const kind = comment ? "c" : string ? "s" : word && WORDS.has(word.toLowerCase()) ? "k" : "";
    const span = document.createElement(kind ? "span" : "i");
    if (!kind) { parts.push(document.createTextNode(whole)); continue; }
    span.className = kind;
    span.textContent = whole;
    parts.push(span);
  }
  into.replaceChildren(...parts, document.createTextNode("\n"));
}

// Offers of names below the editor: plain buttons, reached by Tab; Ctrl+Space takes the first.
const MOST = 6;

export function complete(area, offers) {
  const words = JSON.parse(area.dataset.words || "[]");
  const begun = () => (area.value.slice(0, area.selectionStart).match(/[\p{L}_][\p{L}\p{N}_]*$/u) || [""])[0];

  function take(word) {
    const start = area.selectionStart - begun().length;
    area.setRangeText(word, start, area.selectionStart, "end");
    area.focus();
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function offer() {
    const prefix = begun().toLowerCase();
    const found = prefix ? words.filter((w) => w.toLowerCase().replace(/^"/, "").startsWith(prefix) && w.toLowerCase() !== prefix) : [];
    offers.replaceChildren(...found.slice(0, MOST).map((word) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "plain";
      button.textContent = word;
      button.addEventListener("click", () => take(word));
      return button;
    }));
    return found;
  }

  area.addEventListener("input", offer);
  area.addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.code === "Space") {
      const [first] = offer();
      if (first) { event.preventDefault(); take(first); }
    }
  });
}
