/** The editors for YAML, and the view of changes. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The colours are CSS variables of the page. Their values differ in dark and light mode.
const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.definition(tags.propertyName), tags.propertyName], color: "var(--key)" },
    { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
    { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--word)" },
    { tag: [tags.comment, tags.lineComment], color: "var(--quiet)", fontStyle: "italic" },
    { tag: [tags.separator, tags.punctuation, tags.meta], color: "var(--quiet)" },
  ]),
);

const look = EditorView.theme({
  "&": { backgroundColor: "var(--field)", color: "var(--text)", fontSize: "0.8125rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--quiet)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--line)" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection) !important",
  },
  ".cm-changedLine": { backgroundColor: "var(--added) !important" },
  ".cm-deletedChunk": { backgroundColor: "var(--removed) !important" },
  ".cm-changedText": { background: "var(--added-strong) !important" },
  ".cm-deletedText": { background: "var(--removed-strong) !important" },
  ".cm-insertedLine": { textDecoration: "none !important" },
  ".cm-collapsedLines": {
    background: "var(--line)",
    color: "var(--quiet)",
    fontFamily: "var(--sans)",
    // CodeMirror's default signs are missing in most fonts.
    "&:before, &:after": { content: "'⋯'" },
  },
});

const common: Extension[] = [
  look,
  colours,
  yaml(),
  EditorView.lineWrapping,
  EditorState.tabSize.of(2),
];

export type Editor = {
  text(): string;
  /** Replaces the whole text in one step of the undo history. */
  replace(text: string): void;
};

/**
 * An editor. The Tab key moves the focus, as in the rest of the page.
 *
 * `takesOver` is called before a text is pasted. If it returns `true`, the text is not inserted.
 */
export function editor(
  parent: HTMLElement,
  options: {
    label: string;
    text: string;
    /** The hint that an empty editor shows. */
    hint: string;
    changed: () => void;
    takesOver?: (text: string) => boolean;
  },
): Editor {
  const { takesOver } = options;
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        ...common,
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        indentOnInput(),
        bracketMatching(),
        placeholder(options.hint),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({
          "aria-label": options.label,
          spellcheck: "false",
          tabindex: "0",
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.changed();
        }),
        EditorView.domEventHandlers({
          paste: (event) => {
            const text = event.clipboardData?.getData("text/plain") ?? "";
            if (!takesOver?.(text)) return false;
            event.preventDefault();
            return true;
          },
        }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    replace: (text) =>
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
  };
}

/** Shows the changes between two texts. */
export function changedView(parent: HTMLElement, label: string, before: string, after: string) {
  const old = parent.querySelector<HTMLElement>(".cm-editor");
  if (old) EditorView.findFromDOM(old)?.destroy();
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: after,
      extensions: [
        ...common,
        lineNumbers(),
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        EditorView.contentAttributes.of({
          "aria-label": label,
          tabindex: "0",
          role: "textbox",
          "aria-readonly": "true",
          "aria-multiline": "true",
        }),
        unifiedMergeView({
          original: before,
          mergeControls: false,
          // With the default limit, the comparison of a long Pod stops early. Then the view shows
          // the whole Pod as replaced.
          diffConfig: { scanLimit: 20_000, timeout: 500 },
          collapseUnchanged: { margin: 3, minSize: 6 },
        }),
      ],
    }),
  });
}
