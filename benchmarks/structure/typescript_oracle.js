// Owns the oracle for TypeScript: the compiler's own language service, asked for the definition behind each call.
//
//     node typescript_oracle.js TYPESCRIPT_PACKAGE PROJECT
//
// Prints one JSON array of [path, line, column, name, kind, form, code, outcome, targets]; targets are
// [path, line, qualified name, kind]. Members of interfaces and of object literals count as variables: nobody can
// ask who calls them by a name of their own.
"use strict";
const fs = require("fs");
const path = require("path");
const ts = require(process.argv[2]);
const root = fs.realpathSync(process.argv[3]);

function sourceFiles(folder) {
  const found = [];
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== "node_modules" && !entry.name.startsWith(".")) found.push(...sourceFiles(full));
    } else if (/\.tsx?$/.test(entry.name) && !entry.name.endsWith(".d.ts")) found.push(full);
  }
  return found.sort();
}

const files = sourceFiles(root);
const options = {
  allowJs: false, noEmit: true, skipLibCheck: true, strict: true, experimentalDecorators: true,
  target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler, jsx: ts.JsxEmit.Preserve, types: [],
};
const snapshots = new Map();
const host = {
  getScriptFileNames: () => files,
  getScriptVersion: () => "1",
  getScriptSnapshot: (name) => {
    if (!snapshots.has(name)) {
      const text = ts.sys.readFile(name);
      snapshots.set(name, text === undefined ? undefined : ts.ScriptSnapshot.fromString(text));
    }
    return snapshots.get(name);
  },
  getCurrentDirectory: () => root,
  getCompilationSettings: () => options,
  getDefaultLibFileName: (chosen) => ts.getDefaultLibFilePath(chosen),
  fileExists: ts.sys.fileExists, readFile: ts.sys.readFile, readDirectory: ts.sys.readDirectory,
  directoryExists: ts.sys.directoryExists, getDirectories: ts.sys.getDirectories,
};
const service = ts.createLanguageService(host);
const program = service.getProgram();
const checker = program.getTypeChecker();

const isFunctionValue = (node) => {
  while (node && ts.isParenthesizedExpression(node)) node = node.expression;
  return node && (ts.isArrowFunction(node) || ts.isFunctionExpression(node) || ts.isClassExpression(node));
};

function kindOf(node) {
  if (ts.isFunctionDeclaration(node) || ts.isConstructorDeclaration(node)) return "function";
  if (ts.isClassDeclaration(node)) return "class";
  if (ts.isClassElement(node) && ts.isClassLike(node.parent)) {
    return ts.isPropertyDeclaration(node) && !isFunctionValue(node.initializer) ? "variable" : "function";
  }
  if (ts.isVariableDeclaration(node)) return isFunctionValue(node.initializer) ? "function" : "variable";
  return "variable";
}

function ownName(node) {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  if (ts.isExportAssignment(node)) return "default";
  if (node.name && (ts.isIdentifier(node.name) || ts.isPrivateIdentifier(node.name))) return node.name.text;
  if (node.name && ts.isStringLiteral(node.name)) return node.name.text;
  const isDefault = node.modifiers && node.modifiers.some((each) => each.kind === ts.SyntaxKind.DefaultKeyword);
  return isDefault ? "default" : "";
}

function qualified(node) {
  const names = [];
  for (let at = node; at && !ts.isSourceFile(at); at = at.parent) {
    const holds = ts.isFunctionDeclaration(at) || ts.isClassLike(at) || ts.isClassElement(at)
      || ts.isModuleDeclaration(at) || ts.isInterfaceDeclaration(at) || ts.isExportAssignment(at)
      || (ts.isVariableDeclaration(at) && (at === node || isFunctionValue(at.initializer)));
    if (at === node || holds) names.unshift(ownName(at));
  }
  return names.filter(Boolean).join(".");
}

function target(definition) {
  const file = program.getSourceFile(definition.fileName);
  if (!file || !files.includes(definition.fileName)) return null;
  let node = ts.getTokenAtPosition ? ts.getTokenAtPosition(file, definition.textSpan.start) : null;
  while (node && !(ts.isDeclaration ? ts.isDeclaration(node) : node.symbol)) node = node.parent;
  const line = file.getLineAndCharacterOfPosition(definition.textSpan.start).line + 1;
  const relative = path.relative(root, definition.fileName).split(path.sep).join("/");
  if (!node || ts.isSourceFile(node)) return [relative, line, definition.name, "variable"];
  return [relative, line, qualified(node), kindOf(node)];
}

function bound(identifier) {
  const symbol = checker.getSymbolAtLocation(identifier);
  const declaration = symbol && symbol.declarations && symbol.declarations[0];
  if (!declaration) return "unknown name";
  if (ts.isParameter(declaration)) return declaration.type ? "annotated parameter" : "bare parameter";
  if (ts.isImportSpecifier(declaration) || ts.isImportClause(declaration)) return "imported name";
  if (ts.isNamespaceImport(declaration)) return "imported module";
  if (ts.isBindingElement(declaration)) return "unpacked variable";
  if (ts.isVariableDeclaration(declaration)) {
    if (declaration.type) return "annotated variable";
    let value = declaration.initializer;
    while (value && (ts.isAwaitExpression(value) || ts.isParenthesizedExpression(value))) value = value.expression;
    if (!value) return "variable without a value";
    if (isFunctionValue(value)) return "function of the file";
    if (ts.isCallExpression(value)) return "variable = call";
    if (ts.isNewExpression(value)) return "variable = new";
    if (ts.isIdentifier(value) || ts.isPropertyAccessExpression(value)) return "variable = name";
    return "variable = other";
  }
  if (ts.isFunctionDeclaration(declaration)) return "function of the file";
  if (ts.isClassDeclaration(declaration)) return "class of the file";
  return "other name";
}

function formOf(callee) {
  if (ts.isIdentifier(callee)) return "name: " + bound(callee);
  let receiver = callee.expression;
  while (ts.isParenthesizedExpression(receiver) || ts.isNonNullExpression(receiver)
    || ts.isAwaitExpression(receiver)) receiver = receiver.expression;
  if (receiver.kind === ts.SyntaxKind.ThisKeyword) return "this.";
  if (receiver.kind === ts.SyntaxKind.SuperKeyword) return "super.";
  if (ts.isIdentifier(receiver)) return bound(receiver) + ".";
  if (ts.isPropertyAccessExpression(receiver)) {
    return receiver.expression.kind === ts.SyntaxKind.ThisKeyword ? "this.attribute." : "attribute of other.";
  }
  if (ts.isCallExpression(receiver)) return "call().";
  if (ts.isElementAccessExpression(receiver)) return "element[].";
  return ts.isNewExpression(receiver) ? "new X()." : "expression.";
}

const sites = [];
for (const name of files) {
  const file = program.getSourceFile(name);
  const relative = path.relative(root, name).split(path.sep).join("/");
  const visit = (node) => {
    ts.forEachChild(node, visit);
    const isDecorator = ts.isDecorator(node) && !ts.isCallExpression(node.expression);
    if (!ts.isCallExpression(node) && !ts.isNewExpression(node) && !isDecorator) return;
    let callee = node.expression;
    while (ts.isParenthesizedExpression(callee) || ts.isNonNullExpression(callee)) callee = callee.expression;
    if (!ts.isIdentifier(callee) && !ts.isPropertyAccessExpression(callee)) return;
    const last = ts.isIdentifier(callee) ? callee : callee.name;
    const position = file.getLineAndCharacterOfPosition(last.getStart(file));
    const found = service.getDefinitionAtPosition(name, last.getStart(file)) || [];
    const targets = found.map(target);
    const defined = targets.filter((each) => each && each[3] !== "variable");
    // Beside a class that is constructed stands the constructor that it inherits.
    const classes = defined.filter((each) => each[3] === "class");
    const inside = classes.length ? classes : defined;
    const outcome = inside.length ? "project" : !found.length ? "unknown"
      : targets.some(Boolean) ? "variable" : "external";
    const code = callee.getText(file).replace(/\s+/g, " ").slice(-60);
    sites.push([relative, position.line + 1, position.character, last.text, isDecorator ? "decorate" : "call",
      formOf(callee), code, outcome, inside.length ? inside : targets.filter(Boolean)]);
  };
  visit(file);
}
process.stdout.write(JSON.stringify(sites));
