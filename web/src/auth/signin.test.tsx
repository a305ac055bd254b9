import { BellhopError } from '@bellhop/client';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { SignIn } from './signin.tsx';

afterEach(cleanup);

const refusal = (code: string, error: string) => new BellhopError(401, 'https://broker.example', { code, error });
const type = (label: string, value: string) => fireEvent.change(screen.getByLabelText(label), { target: { value } });
const submit = () => fireEvent.click(screen.getByRole('button', { name: 'Sign in' }));

function mount() {
  const onSignIn = vi.fn();
  const onBack = vi.fn();
  const page = (failure: Error | null) => (
    <SignIn failure={failure} pending={false} onSignIn={onSignIn} onBack={onBack} />
  );
  const { rerender } = render(page(null));
  return { onSignIn, onBack, fail: (failure: Error | null) => rerender(page(failure)) };
}

it('asks for the code after the password, and says only of a sent code that it is wrong', () => {
  const { onSignIn, fail } = mount();
  type('E-mail', 'ada@example.com');
  type('Password', 'four words');
  submit();
  expect(onSignIn).toHaveBeenLastCalledWith({ email: 'ada@example.com', password: 'four words' });

  fail(refusal('second_factor', 'This account needs a code'));
  expect(screen.queryByRole('alert')).toBeNull();
  expect(screen.queryByLabelText('Password')).toBeNull();
  type('Code of your authenticator app', '123456');
  submit();
  expect(onSignIn).toHaveBeenLastCalledWith({ email: 'ada@example.com', password: 'four words', code: '123456' });

  fail(refusal('second_factor', 'The code is wrong'));
  expect(screen.getByRole('alert').textContent).toContain('The code is wrong');
  fireEvent.click(screen.getByRole('button', { name: 'Use a recovery code' }));
  type('Recovery code', 'abcd-efgh');
  submit();
  expect(onSignIn).toHaveBeenLastCalledWith({ email: 'ada@example.com', password: 'four words', code: 'abcd-efgh' });
});

it('goes back to another account without the password', () => {
  const { onBack, fail } = mount();
  type('E-mail', 'ada@example.com');
  type('Password', 'four words');
  submit();
  fail(refusal('second_factor', 'This account needs a code'));
  fireEvent.click(screen.getByRole('button', { name: 'Use another account' }));
  expect(onBack).toHaveBeenCalledOnce();
  fail(null);
  expect((screen.getByLabelText('Password') as HTMLInputElement).value).toBe('');
});
