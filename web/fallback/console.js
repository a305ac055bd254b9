'use strict';

const who = document.getElementById('who');
const form = document.getElementById('sign-in');
const signOut = document.getElementById('sign-out');

const { base = '/', signedIn } = JSON.parse(document.getElementById('bellhop-config').textContent);

async function call(method, path, body) {
  const answer = await fetch(base + path, {
    method,
    headers: body ? { 'Content-Type': 'application/json' } : {},
    body: body && JSON.stringify(body),
  });
  const json = await answer.json();
  if (!answer.ok) {
    throw Object.assign(new Error(json.hint ? `${json.error}. ${json.hint}.` : `${json.error}.`), {
      status: answer.status,
    });
  }
  return json;
}

function show(user, failure) {
  who.textContent = user
    ? `Signed in as ${user.email}${user.admin ? ' (administrator)' : ''}.`
    : failure || 'You are not signed in.';
  form.hidden = Boolean(user);
  signOut.hidden = !user;
}

async function refresh(failure) {
  try {
    show((await call('GET', 'api/auth/me')).user);
  } catch (err) {
    show(null, failure || (err.status === 401 ? '' : err.message));
  }
}

async function signIn(credentials) {
  try {
    show((await call('POST', 'api/auth/login', credentials)).user);
  } catch (err) {
    await refresh(err.message);
  }
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const data = new FormData(form);
  void signIn({ email: data.get('email'), password: data.get('password') });
});

signOut.addEventListener('click', async () => {
  try {
    await call('POST', 'api/auth/logout');
    show(null);
  } catch (err) {
    who.textContent = err.message;
  }
});

for (const element of document.querySelectorAll('.origin')) {
  element.textContent = location.origin + base.slice(0, -1);
}

const link = new URLSearchParams(location.hash.slice(1)).get('link');
if (link) {
  // A one-time link has no business in the history or in a bookmark.
  history.replaceState(null, '', location.pathname);
  void signIn({ link });
} else if (signedIn) {
  void refresh();
} else {
  show(null);
}
