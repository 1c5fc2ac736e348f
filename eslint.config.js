import { defineConfig, globalIgnores } from 'eslint/config'
import * as regexp from 'eslint-plugin-regexp'
import typescript from 'typescript-eslint'

export default defineConfig(
  globalIgnores(['dist', 'plugins']),
  {
    files: ['**/*.{ts,tsx}'],
    extends: [typescript.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { regexp },
    rules: {
      // A stranger's megabyte must not cost its length squared, on the host's own thread.
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Numbers in texts are wanted: "line 3".
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // `() => void set.delete(x)` says that the result does not matter.
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidOperator: true },
      ],
      // `import('…')` as a type is how a test names what it loads late.
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      // The parts of a room are closures, not classes: their members use no `this`.
      '@typescript-eslint/unbound-method': 'off',
      // Texts are cut into code points on purpose, never into units.
      '@typescript-eslint/no-misused-spread': ['error', { allow: [{ from: 'lib', name: 'string' }] }],
      // Interfaces of the rooms promise a promise, also where one implementation has nothing to wait for.
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    files: ['test/**/*.ts', 'repository/**/*.test.ts'],
    rules: {
      // Tests search texts of their own.
      'regexp/no-super-linear-backtracking': 'off',
      'regexp/no-super-linear-move': 'off',
      // node:test runs a test whether or not its promise is looked at.
      '@typescript-eslint/no-floating-promises': 'off',
      // Answers and payloads are compared as they come; a schema here would only repeat the assertion.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/restrict-plus-operands': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      // A test also hands over what the types forbid: a rejection that is no error, say.
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/only-throw-error': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
    },
  },
)
