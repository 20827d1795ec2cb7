/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.JsonWriter;
import org.shardflake.cli.output.OutputFormat;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.cli.output.YamlWriter;
import org.shardflake.scheme.ExplainedId;
import org.shardflake.scheme.Guess;
import org.shardflake.scheme.MalformedIdException;
import org.shardflake.scheme.Scheme;
import org.shardflake.scheme.Schemes;

/**
 * Decodes ids of other schemes.
 *
 * <p>JSON and YAML are written id by id; a table comes at the end, since its column widths depend on all values.
 */
final class SchemeDecoder implements IdInput.Handler {

    static final String AUTO = "auto";

    /** The scheme of the ids, null for {@link #AUTO}. */
    private final @Nullable Scheme scheme;

    private final List<Scheme> candidates;
    private final OutputFormat format;
    private @Nullable TableWriter table;

    /**
     * Creates a decoder for ids of one scheme, or of any.
     *
     * @param epoch the epoch, if not the scheme's own; with {@link #AUTO}, the one for ids of Shardflake
     * @throws CliException if there is no such scheme, or its epoch cannot be chosen
     */
    SchemeDecoder(String name, @Nullable Instant epoch, OutputMixin output) {
        this.format = output.format();
        try {
            boolean auto = name.equals(AUTO);
            this.scheme = auto ? null : withEpoch(Schemes.named(name), epoch);
            this.candidates = auto ? candidates(epoch) : List.of();
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    private static List<Scheme> candidates(@Nullable Instant epoch) {
        List<Scheme> candidates = new ArrayList<>(Schemes.all());
        candidates.set(0, withEpoch(candidates.get(0), epoch));
        return candidates;
    }

    private static Scheme withEpoch(Scheme scheme, @Nullable Instant epoch) {
        return epoch == null ? scheme : scheme.withEpoch(epoch);
    }

    @Override
    public void handle(String id, StringBuilder out) {
        if (scheme == null) {
            guess(id, out);
        } else {
            ExplainedId explained = explain(scheme, id);
            addRow(explained);
            write(facts(id, scheme, explained), out);
        }
    }

    private static ExplainedId explain(Scheme scheme, String id) {
        try {
            return scheme.decode(id);
        } catch (MalformedIdException e) {
            throw new IllegalArgumentException(e.getMessage(), e);
        }
    }

    private void guess(String id, StringBuilder out) {
        List<Guess> guesses = Schemes.rank(candidates, id, Instant.now());
        if (guesses.isEmpty()) {
            throw new IllegalArgumentException(
                    "\"%s\" can be an id of no scheme; see --scheme for those there are".formatted(printable(id)));
        }
        List<Map<String, Object>> facts = new ArrayList<>();
        for (Guess guess : guesses) {
            addRow(guess);
            facts.add(facts(guess));
        }
        Map<String, Object> ranked = new LinkedHashMap<>();
        ranked.put("id", id);
        ranked.put("guesses", facts);
        write(ranked, out);
    }

    private static String printable(String id) {
        String text = id.replaceAll("\\p{Cntrl}", "?");
        return text.length() > 40 ? text.substring(0, 40) + "..." : text;
    }

    private void write(Map<String, Object> facts, StringBuilder out) {
        switch (format) {
            case TABLE -> {}
            case JSON -> out.append(JsonWriter.write(facts)).append('\n');
            case YAML ->
                out.append(YamlWriter.write(List.of(facts)).stripTrailing().stripIndent())
                        .append('\n');
        }
    }

    private static Map<String, Object> facts(String id, Scheme scheme, ExplainedId explained) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("id", id);
        facts.put("scheme", scheme.name());
        addFields(facts, explained);
        return facts;
    }

    private static Map<String, Object> facts(Guess guess) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("scheme", guess.scheme().name());
        facts.put("plausibility", guess.plausibility());
        facts.put("reason", guess.reason());
        addFields(facts, guess.id());
        return facts;
    }

    private static void addFields(Map<String, Object> facts, ExplainedId explained) {
        explained.fields().forEach((name, value) -> {
            facts.put(name, value instanceof Instant ? value.toString() : value);
            if (value instanceof Instant time) {
                facts.put(name + "Millis", time.toEpochMilli());
            }
        });
        facts.put("warnings", explained.warnings());
    }

    private void addRow(ExplainedId explained) {
        if (format != OutputFormat.TABLE) {
            return;
        }
        List<String> headers = new ArrayList<>(List.of("ID"));
        List<Object> values = new ArrayList<>(List.of(explained.text()));
        explained.fields().forEach((name, value) -> {
            headers.add(header(name));
            values.add(value);
        });
        headers.add("WARNINGS");
        values.add(String.join("; ", explained.warnings()));
        if (table == null) {
            table = new TableWriter(headers.toArray(String[]::new));
        }
        table.row(values.toArray());
    }

    private void addRow(Guess guess) {
        if (format != OutputFormat.TABLE) {
            return;
        }
        if (table == null) {
            table = new TableWriter("ID", "SCHEME", "PLAUSIBILITY", "REASON");
        }
        table.row(guess.id().text(), guess.scheme().name(), guess.plausibility(), guess.reason());
    }

    private static String header(String field) {
        return field.replaceAll("([a-z])([A-Z])", "$1 $2").toUpperCase(Locale.ROOT);
    }

    /** Writes output that had to wait until the end. */
    void end(PrintWriter out) {
        if (table != null) {
            out.append(table.toString());
        }
    }
}
