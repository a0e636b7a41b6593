// Everything starts here, once the page is there.

function startNavigation() {
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        for (const [id, link] of links) link.classList.toggle("here", id === entry.target.id);
      }
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const id of links.keys()) watcher.observe(find(id));
}

startTheme();
startTips();
startNavigation();
startCurves();
startGraph();
startBatch();
startSpread();
startReal();
