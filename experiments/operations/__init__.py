"""Operations behind the commands of `dualgap`, and the helpers that they share."""
