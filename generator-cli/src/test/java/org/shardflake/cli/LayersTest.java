/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

class LayersTest {

    @Test
    void workKnowsNothingOfTheCommandLine() {
        noClasses()
                .that()
                .resideInAPackage("org.shardflake..")
                .and()
                .resideOutsideOfPackages("org.shardflake.cli", "org.shardflake.cli.command")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("picocli..", "org.shardflake.cli.command")
                .check(new ClassFileImporter()
                        .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                        .importPackages("org.shardflake"));
    }
}
