#compdef audiobench
# zsh: source <(audiobench completion zsh)
_audiobench() {
    local -a found names abouts
    found=("${(@f)$("$words[1]" completion zsh --words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    found=(${found:#})
    if (( ! $#found )); then _files; return; fi
    names=("${(@)found%%$'\t'*}")
    abouts=("${(@)found/$'\t'/  -- }")
    compadd -l -d abouts -a names
}
if [[ $funcstack[1] == _audiobench ]]; then _audiobench "$@"; else compdef _audiobench audiobench; fi
