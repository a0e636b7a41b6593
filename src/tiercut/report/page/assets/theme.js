// Light or dark: the reader's system decides until the button says otherwise.

function startTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const tell = () => {
    find("theme").setAttribute("aria-pressed", String(isDark()));
    find("theme-says").textContent = isDark() ? "Light" : "Dark";
  };
  try {
    const kept = localStorage.getItem("tiercut-theme");
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch {
    // Some browsers keep nothing for pages from a file; the choice then lasts as long as the page.
  }
  find("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("tiercut-theme", root.dataset.theme);
    } catch {
      // See above.
    }
    tell();
  });
  system.addEventListener("change", tell);
  tell();
}
