// Compiles the component of a .vue file on the standard input, as Vue's plugins for bundlers do: node sfc.cjs MODULES.
const { text } = require('node:stream/consumers');
const { compileScript, parse } = require(`${process.argv[2]}/vue/compiler-sfc`);

text(process.stdin).then((source) => {
  const compilerOptions = { isCustomElement: (tag) => tag === 'waiting-room' };
  const { descriptor, errors } = parse(source, { templateParseOptions: compilerOptions });
  if (errors.length) throw errors[0];
  process.stdout.write(compileScript(descriptor, { id: 'line', inlineTemplate: true, templateOptions: { compilerOptions } }).content);
});
