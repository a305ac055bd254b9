'use strict';
const search = document.getElementById('search');
const count = document.getElementById('count');
const entries = [...document.querySelectorAll('details[data-search]')];

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const entry of entries) {
    const text = entry.dataset.search.toLowerCase();
    entry.hidden = !words.every((word) => text.includes(word));
    if (!entry.hidden) shown++;
  }
  for (const section of document.querySelectorAll('main > section')) {
    const inside = [...section.querySelectorAll('details[data-search]')];
    section.hidden = inside.length > 0 && inside.every((entry) => entry.hidden);
  }
  count.textContent = words.length > 0 ? `${shown} of ${entries.length} match` : '';
}

function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.hidden || target.closest('[hidden]')) {
    search.value = '';
    filter();
  }
  if (target.tagName === 'DETAILS') target.open = true;
  target.scrollIntoView();
}

search.addEventListener('input', filter);
addEventListener('hashchange', reveal);
reveal();
