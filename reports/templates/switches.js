"use strict";
// Language and colours of a page, remembered where the browser lets it. `page.spoken` is called when the language is known.
const page = (() => {
  const root = document.documentElement;
  const store = {
    get(name) { try { return localStorage.getItem(name); } catch { return null; } },
    set(name, value) { try { localStorage.setItem(name, value); } catch { return; } },
  };
  const chinese = () => root.lang === "zh-CN";
  const spoken = [];

  function speak(language) {
    root.lang = language;
    for (const element of document.querySelectorAll("[data-zh]")) {
      element.dataset.en ??= element.getAttribute("aria-label");
      element.setAttribute("aria-label", chinese() ? element.dataset.zh : element.dataset.en);
    }
    spoken.forEach((call) => call());
  }

  function toggleTheme() {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    root.dataset.theme = (root.dataset.theme ?? system) === "dark" ? "light" : "dark";
    store.set("acl-cts-theme", root.dataset.theme);
  }

  root.classList.add("scripted");
  const theme = store.get("acl-cts-theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  document.getElementById("theme").addEventListener("click", toggleTheme);
  document.getElementById("language").addEventListener("click", () => {
    speak(chinese() ? "en" : "zh-CN");
    store.set("acl-cts-language", root.lang);
  });
  return {
    chinese,
    // Calls `call` now and whenever the language changes.
    start(call) {
      spoken.push(call);
      const wanted = store.get("acl-cts-language") ?? (navigator.language.startsWith("zh") ? "zh-CN" : "en");
      speak(wanted === "zh-CN" ? "zh-CN" : "en");
    },
  };
})();
