import 'vitest';

declare module 'vitest' {
  export interface ProvidedContext {
    major: 5 | 6 | 7;
    brokerUrl: string;
    hostUrl: string;
    token: string;
    devFile: string;
    hostPassword: string;
    operatorKey: string;
  }
}
