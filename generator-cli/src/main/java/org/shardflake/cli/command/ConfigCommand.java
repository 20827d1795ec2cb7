/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.config.Setting;
import org.shardflake.cli.config.Settings;
import org.shardflake.cli.output.TableWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code shardflake config}: shows the values of options and where they come from. */
@Command(
        name = "config",
        description = {
            "Shows the values of options not given on the command line, and where each comes from.",
            "An option on the command line takes precedence over its environment variable (SHARDFLAKE_CATALOG"
                    + " for --catalog), and that over shardflake.yaml in the working directory; for the catalog, the local"
                    + " cluster comes last."
        },
        sortOptions = false,
        footer = {"", "Example: shardflake config -o yaml"})
final class ConfigCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        Settings settings = Invocation.of(spec).settings();
        List<Setting> found = new ArrayList<>();
        for (String name : Settings.NAMES) {
            Optional<Setting> setting =
                    name.equals("catalog") ? catalog.origin().map(this::withoutPassword) : settings.find(name);
            setting.ifPresent(found::add);
        }
        output.print(found.stream().map(ConfigCommand::facts).toList(), () -> text(found));
    }

    private Setting withoutPassword(Setting url) {
        return new Setting(url.name(), catalog.parse(url.value()).toString(), url.origin());
    }

    private static Map<String, Object> facts(Setting setting) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("name", setting.name());
        facts.put("value", setting.value());
        facts.put("origin", setting.origin());
        return facts;
    }

    private static String text(List<Setting> found) {
        if (found.isEmpty()) {
            return "nothing is set; set one of %s in shardflake.yaml, or as an environment variable such as %s"
                    .formatted(String.join(", ", Settings.NAMES), Settings.variable("catalog"));
        }
        TableWriter table = new TableWriter("NAME", "VALUE", "ORIGIN");
        found.forEach(setting -> table.row(setting.name(), setting.value(), setting.origin()));
        return table.toString();
    }
}
