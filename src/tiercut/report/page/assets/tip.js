// One tip for the whole page: it follows the pointer, or stands beside what has the focus.

function showTip(x, y, ...content) {
  const tip = find("tip");
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width > innerWidth - 8 ? x - 16 - width : x + 16;
  const top = y + 16 + height > innerHeight - 8 ? y - 12 - height : y + 16;
  tip.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}

function hideTip() {
  find("tip").hidden = true;
}

function tipLines(text) {
  const [first, ...rest] = text.split("\n");
  return [element("b", {}, first), rest.join("\n")];
}

// Whatever has data-tip tells it, to pointers and to the keyboard.
function startTips() {
  const tell = (event) => {
    const target = event.target instanceof Element && event.target.closest("[data-tip]");
    if (!target) return false;
    showTip(event.clientX, event.clientY, ...tipLines(target.dataset.tip));
    return true;
  };
  let shown = false;
  for (const kind of ["pointermove", "pointerdown"]) {
    document.addEventListener(kind, (event) => {
      const tells = tell(event);
      if (shown && !tells) hideTip();
      shown = tells;
    }, true); // before the charts, which may have something of their own to tell
  }
  // What gets the focus may have to be scrolled to: the tip goes with it.
  const follow = () => {
    const focused = document.activeElement;
    if (!focused || !focused.dataset.tip) return hideTip();
    const box = focused.getBoundingClientRect();
    return showTip(box.right, box.bottom, ...tipLines(focused.dataset.tip));
  };
  document.addEventListener("focusin", follow);
  document.addEventListener("focusout", hideTip);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
  addEventListener("scroll", follow, { passive: true });
}
