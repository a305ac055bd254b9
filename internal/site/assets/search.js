// The search: all words have to be in a section, at the beginning of a word. Its data is a script that is loaded at
// the first use, because a page that was opened from a folder cannot fetch a file.
(() => {
  const root = document.currentScript.dataset.root;
  const form = document.querySelector('form');
  const input = document.getElementById('search');
  const results = document.getElementById('results');
  const found = document.getElementById('found');
  const most = 12;
  let sections;
  let selected = -1;
  form.hidden = false;

  const load = () => {
    if (sections) return;
    sections = [];
    const script = document.createElement('script');
    script.src = `${root}index.js`;
    script.onload = () => {
      sections = window.searchIndex.map((s) => ({ ...s, title: ` ${s.t} ${s.p}`.toLowerCase(), text: ` ${s.x}`.toLowerCase() }));
      show();
    };
    document.head.append(script);
  };

  const begins = (text, word) => {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
      if (!/[\p{L}\p{N}]/u.test(text[at - 1])) return true;
    }
    return false;
  };

  const score = (section, words) => {
    let sum = 0;
    for (const word of words) {
      if (begins(section.title, word)) sum += 10;
      else if (begins(section.text, word)) sum += 1;
      else return 0;
    }
    return sum;
  };

  const excerpt = (section, word) => {
    const at = Math.max(0, section.text.indexOf(word) - 1 - 40);
    return (at > 0 ? '… ' : '') + section.x.slice(at, at + 120);
  };

  const choose = (n) => {
    const items = [...results.children];
    selected = items.length ? (n + items.length) % items.length : -1;
    items.forEach((item, i) => item.setAttribute('aria-selected', String(i === selected)));
    if (selected >= 0) {
      input.setAttribute('aria-activedescendant', items[selected].id);
      items[selected].scrollIntoView({ block: 'nearest' });
    } else input.removeAttribute('aria-activedescendant');
  };

  const item = (section, i, words) => {
    const li = document.createElement('li');
    li.id = `result${i}`;
    li.setAttribute('role', 'option');
    li.dataset.to = root + section.u;
    const title = document.createElement('b');
    title.textContent = section.t === section.p ? section.t : `${section.p} › ${section.t}`;
    const text = document.createElement('span');
    text.textContent = excerpt(section, words[0]);
    li.append(title, text);
    li.onmousedown = (event) => event.preventDefault();
    li.onclick = () => location.assign(li.dataset.to);
    return li;
  };

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = (words.length ? (sections ?? []) : [])
      .map((section) => ({ section, score: score(section, words) }))
      .filter((hit) => hit.score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, most);
    results.replaceChildren(...hits.map((hit, i) => item(hit.section, i, words)));
    results.hidden = hits.length === 0;
    input.setAttribute('aria-expanded', String(hits.length > 0));
    found.textContent = words.length ? (hits.length ? `${hits.length} results` : 'Nothing found') : '';
    choose(hits.length ? 0 : -1);
  };

  const close = () => {
    results.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };

  input.onfocus = load;
  input.oninput = show;
  input.onblur = close;
  input.onkeydown = (event) => {
    if (event.key === 'ArrowDown') choose(selected + 1);
    else if (event.key === 'ArrowUp') choose(selected - 1);
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    if (selected >= 0) location.assign(results.children[selected].dataset.to);
  };
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea')) return;
    event.preventDefault();
    input.focus();
  });
})();
