# nix run github:OWNER/NAME -- scan --cluster-id prod
{
  description = "Why is my LoadBalancer pending? Self-managed Kubernetes in AWS and Alibaba Cloud";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).package;
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system:
        let pkgs = nixpkgs.legacyPackages.${system}; in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = manifest.name;
            version = manifest.version;
            src = self;
            cargoLock.lockFile = ./Cargo.lock;
            cargoBuildFlags = [ "--bin" manifest.name ];
            nativeBuildInputs = [ pkgs.installShellFiles ];
            # The tests start local servers, and run in CI.
            doCheck = false;
            postInstall = ''
              for shell in bash fish zsh; do
                $out/bin/tagaudit completions $shell > completion.$shell
                installShellCompletion --cmd tagaudit --$shell completion.$shell
              done
              $out/bin/tagaudit man --output man
              installManPage man/*.1
            '';
            meta = {
              description = manifest.description;
              license = pkgs.lib.licenses.asl20;
              mainProgram = manifest.name;
            };
          };
        });
    };
}
