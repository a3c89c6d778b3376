# Finds the messages on the pages that no row of the end-to-end tests has produced. The inputs are the lines of the
# transcripts. $pages has the path and the text of each page. Writes a line for each such message.
#
# A message is compared word by word. The names, images, pull policies and other values in it may be any words.

# A text -> its sentences, each a list of words without punctuation.
def sentences:
  splits("; |;$") | gsub("[\"(),]|'s |[:.]( |$)"; " ") | [splits("\\s+") | select(. != "")] | select(length > 0);

# A sentence that was produced, and the strings of its request and settings -> the sentence with null for each value.
def template($values):
  map(if test("[0-9/@*$_]|\\.\\.\\.|^(Always|IfNotPresent|Never)$") or $values[.] then null else . end);

# A line of a transcript -> the templates of the sentences in its answer.
def of_transcript:
  (try (.request | fromjson) catch {} | .request // .) as $request
  | ([$request.object | .. | objects | .name? | strings] + [.settings | .. | strings]
    | map({(gsub("\\s"; "_")): true}) | add // {}) as $values
  | (.refused, .response.status.message, .response.warnings[]?) | strings | sentences | template($values);

# Each three words in a row, if the first and the last are fixed. Any value may stand between these two.
def three_words: range(length - 2) as $at | .[$at:$at + 3] | select(.[0] and .[2]);

# A page -> the lines of its code blocks, without comments, and the code spans of its prose. A folded text of YAML is
# one line. A span may quote a part of a sentence.
def quotes:
  [splits("(^|\n) *```")] | to_entries[]
  | if .key % 2 == 0 then .value | match("`([^`\n]+)`"; "g").captures[0].string | {text: ., is_part: true}
    elif .value | contains(">-\n") then .value | sub("(.|\n)*>-\n"; "") | gsub("\n"; " ") | {text: .}
    else .value | splits("\n") | sub("#.*"; "") | {text: .} end;

# Whether the input, a list of words, is a template or, if it may be, a part of one.
def is_produced($templates; $is_part):
  . as $words
  | any(
      $templates[] as $template
      | ($template | length) - ($words | length)
      | select(. == 0 or $is_part and . > 0)
      | range(. + 1) as $start
      | all(range($words | length); $template[$start + .] as $word | $word == null or $word == $words[.]);
      .);

# Whether the input, a list of words, is a quoted message: a fifth of its words begin three known words.
def is_quoted($known):
  [three_words | select($known[tojson] or (.[1] = null | $known[tojson]))] as $three
  | ($three | length) * 5 >= length;

[inputs | of_transcript] | unique as $templates
| (reduce ($templates[] | three_words | tojson) as $words ({}; .[$words] = true)) as $known
| $pages[]
| .path as $path
| (.text | quotes) as {$text, $is_part}
| ($text | sentences)
| select(is_quoted($known))
| if is_produced($templates; $is_part) then "found" else "\($path): no row has produced: \(join(" "))" end
