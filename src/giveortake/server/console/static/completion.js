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
