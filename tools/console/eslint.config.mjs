// Lints the console's page and the tests of its modules. TypeScript (tsc) checks types and unknown names; Prettier, the
// format. The rules are listed one by one, so that ESLint does not look for configurations in this file's folder.

const NO_MARKUP = 'Texts stay texts: make elements with element() of views/dom.js.';

export default [
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      // Errors that types do not show.
      'array-callback-return': 'error',
      'constructor-super': 'error',
      'for-direction': 'error',
      'getter-return': 'error',
      'no-async-promise-executor': 'error',
      'no-compare-neg-zero': 'error',
      'no-cond-assign': 'error',
      'no-constant-binary-expression': 'error',
      'no-constant-condition': 'error',
      'no-control-regex': 'error',
      'no-dupe-else-if': 'error',
      'no-duplicate-case': 'error',
      'no-empty': 'error',
      'no-empty-character-class': 'error',
      'no-fallthrough': 'error',
      'no-loss-of-precision': 'error',
      'no-promise-executor-return': 'error',
      'no-self-assign': 'error',
      'no-self-compare': 'error',
      'no-shadow': ['error', { builtinGlobals: false }],
      'no-sparse-arrays': 'error',
      'no-template-curly-in-string': 'error',
      'no-unmodified-loop-condition': 'error',
      'no-unreachable': 'error',
      'no-unreachable-loop': 'error',
      'no-unsafe-finally': 'error',
      'no-unsafe-negation': 'error',
      'no-unsafe-optional-chaining': 'error',
      'no-unused-expressions': 'error',
      'no-unused-vars': 'error',
      'no-use-before-define': ['error', { functions: false, classes: false }],
      'require-atomic-updates': 'off', // Each view has one request at a time, or compares what was asked for.
      'use-isnan': 'error',
      'valid-typeof': 'error',
      // One form for each construct.
      eqeqeq: 'error',
      'no-else-return': 'error',
      'no-lonely-if': 'error',
      'no-throw-literal': 'error',
      'no-useless-catch': 'error',
      'no-useless-concat': 'error',
      'no-useless-escape': 'error',
      'no-useless-return': 'error',
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
      'prefer-template': 'error',
      // Code and markup from texts, which the browser refuses, too (see application.py).
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-script-url': 'error',
      'no-restricted-properties': [
        'error',
        ...['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'setHTMLUnsafe', 'write', 'writeln'].map((property) => ({
          property,
          message: NO_MARKUP,
        })),
      ],
      'no-restricted-globals': [
        'error',
        { name: 'event', message: 'Take the event as a parameter.' },
        { name: 'name', message: 'A forgotten declaration: this is the name of the window.' },
      ],
    },
  },
];
